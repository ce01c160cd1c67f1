package engine_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// isOpen reports whether a process has a conversation open, by its lease.
func isOpen(t *testing.T, root, id string) bool {
	t.Helper()
	var lease struct {
		Expires float64 `json:"expires_at"`
	}
	if err := json.Unmarshal(mustRead(t, filepath.Join(store.Path(root, id), "owner_lease.json")), &lease); err != nil {
		t.Fatal(err)
	}
	return lease.Expires != 0
}

// turns runs a turn in each of some conversations, one second after the other,
// and gives a text of one letter for each: o is open, c is closed.
func turns(t *testing.T, cfg engine.Config, text []string, req agentapi.OpenRequest) string {
	t.Helper()
	cfg.NewModel = func(engine.Profile, string) (llm.Model, error) { return instant{"agent"}, nil }
	b := engine.New(cfg)
	states := func(ids []string) string {
		synctest.Wait()
		s := ""
		for _, id := range ids {
			if isOpen(t, cfg.Dir, id) {
				s += "o"
			} else {
				s += "c"
			}
		}
		return s
	}
	var ids []string
	for _, say := range text {
		req.ID, req.New, req.Profile, req.Workspace = uuid.New(), true, "main", t.TempDir()
		ids = append(ids, req.ID)
		c, err := b.Open(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: say}, Emit: func(turn.Update) {}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	got := states(ids)
	for i, id := range ids { // each goes on
		c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id, Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go on"}, Emit: func(turn.Update) {}}); err != nil || res.Outcome != turn.Finished {
			t.Errorf("conversation %d: %+v, %v", i, res, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return got
}

// keeper is a tool that keeps a megabyte.
type keeper struct{ tool.Tool }

func (keeper) Held() int64 { return 1 << 20 }

func TestIdleConversationsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 100_000)
	for name, tc := range map[string]struct {
		limit func(*engine.Config)
		text  []string
		req   agentapi.OpenRequest
		want  string
	}{
		"by their number": {limit: func(c *engine.Config) { c.MaxIdle = 2 }, text: []string{"1", "2", "3", "4"}, want: "ccoo"},
		"none":            {limit: func(c *engine.Config) { c.MaxIdle = -1 }, text: []string{"1", "2"}, want: "cc"},
		"by their memory": {limit: func(c *engine.Config) { c.IdleMemory = 3 << 19 }, text: []string{long, "2", long, long}, want: "cooo"},
		"by what their tools keep": {limit: func(c *engine.Config) {
			c.IdleMemory = 3 << 19
			c.NewTools = func(context.Context, engine.ToolEnv) ([]tool.Tool, error) {
				return []tool.Tool{keeper{enginetest.Finish()}}, nil
			}
		}, text: []string{"1", "2", "3"}, want: "cco"},
		"by neither":   {limit: func(*engine.Config) {}, text: []string{"1", "2", "3"}, want: "ooo"},
		"for one turn": {limit: func(*engine.Config) {}, text: []string{"1", "2"}, req: agentapi.OpenRequest{Once: true}, want: "cc"},
		"by time":      {limit: func(c *engine.Config) { c.Idle = 2 * time.Second }, text: []string{"1", "2", "3", "4"}, want: "ccco"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "test"))
				tc.limit(&cfg)
				if got := turns(t, cfg, tc.text, tc.req); got != tc.want {
					t.Errorf("open and closed: %s, want %s", got, tc.want)
				}
			})
		})
	}
}

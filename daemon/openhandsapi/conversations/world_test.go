package conversations_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) { waittest.Main(m) }

// profiles knows one agent profile, and one whose LLM profile the engine does not know.
type profiles struct{}

const (
	profileID = "11111111-1111-4111-8111-111111111111"
	lostID    = "55555555-5555-4555-8555-555555555555"
)

func (profiles) AgentProfile(_ context.Context, id, llm string) (conversations.AgentProfile, error) {
	if id == lostID {
		return conversations.AgentProfile{ID: id, Settings: json.RawMessage(`{"agent_kind":"openhands"}`), LLM: "unknown"}, nil
	}
	if id != profileID {
		return conversations.AgentProfile{}, agentapi.ErrProfileNotFound
	}
	if llm == "" {
		llm = "fast"
	}
	return conversations.AgentProfile{ID: id, Revision: 3, Settings: json.RawMessage(`{"agent_kind":"openhands"}`), LLM: llm, Secrets: &[]string{"TOKEN"}, Ignored: []string{"public_skills"}}, nil
}

// seal only looks like encryption.
func seal(v string) (string, error) {
	return "gAAAAA" + base64.StdEncoding.EncodeToString([]byte(v)), nil
}

func unseal(v string) (string, error) {
	plain, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v, "gAAAAA"))
	return string(plain), err
}

// began is when an engine starts. Each look at its clock takes a second.
var began = time.Date(2026, 8, 22, 14, 0, 0, 0, time.UTC)

// newEngine is the embedded agent, which talks to a scripted model. Without a script that
// says what the user has said.
func newEngine(t testing.TB) (control.Engine, *llmtest.Server) {
	t.Helper()
	llm := llmtest.New(t)
	cfg := enginetest.Config(t, llm.URL, enginetest.NewProfiles("fast", "fast", "other", "other"))
	cfg.Files, cfg.Seal, cfg.Unseal = enginetest.Disk{}, seal, unseal
	var looks atomic.Int64
	cfg.Now = func() time.Time { return began.Add(time.Duration(looks.Add(1)) * time.Second) }
	backend := engine.New(cfg)
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return backend.Control(), llm
}

// api is the routes over the embedded agent.
type api struct {
	t       testing.TB
	engine  control.Engine
	llm     *llmtest.Server
	handler http.Handler
	dir     string
}

func newAPI(t testing.TB, change ...func(*conversations.Config)) *api {
	t.Helper()
	a := &api{t: t, dir: t.TempDir()}
	a.engine, a.llm = newEngine(t)
	cfg := conversations.Config{Engine: a.engine, Dir: a.dir, Profiles: profiles{}, Unseal: unseal}
	for _, f := range change {
		f(&cfg)
	}
	a.handler = openhandsapi.New(openhandsapi.Config{Routes: conversations.Routes(cfg)})
	return a
}

// forTest is the same API for one run of a fuzz target.
func (a *api) forTest(t *testing.T) *api {
	one := *a
	one.t = t
	return &one
}

// ask makes a request and returns the status and the body.
func (a *api) ask(method, path, body string) (int, string) {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.t.Context(), method, path, strings.NewReader(body)))
	got, err := io.ReadAll(w.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return w.Code, string(got)
}

// want makes a request whose answer has a status, and decodes it.
func (a *api) want(status int, method, path, body string, into any) {
	a.t.Helper()
	code, got := a.ask(method, path, body)
	if code != status {
		a.t.Fatalf("%s %s %s: status = %d, body = %s, want %d", method, path, body, code, got, status)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(got), into); err != nil {
		a.t.Fatalf("%s %s: %v in %s", method, path, err, got)
	}
}

const (
	agentMember = `"agent":{"llm":{"model":"openai/m","api_key":"sk-1234"}}`
	workMember  = `"workspace":{"working_dir":"w"}`
	minimal     = `{` + agentMember + `,` + workMember + `}`
	nobody      = "/api/conversations/7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
)

// begin starts a conversation and returns its path.
func (a *api) begin() (path, id string) {
	a.t.Helper()
	return a.beginWith(minimal)
}

func (a *api) beginWith(body string) (path, id string) {
	a.t.Helper()
	var made struct{ ID string }
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", body, &made)
	return "/api/conversations/" + made.ID, made.ID
}

// say sends a message and waits for the end of its run.
func (a *api) say(path, text string) {
	a.t.Helper()
	a.runs(path, step{200, "/events", fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"run":true}`, text)})
}

// runs makes a request that starts a run and waits for its end, at which the state is
// published.
func (a *api) runs(path string, s step) {
	a.t.Helper()
	stream := a.watch(path, "")
	for states := 0; states < 2; { // the first one is the beginning of the stream
		e, err := stream.Next(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		if _, whole, _ := e.FullState(); !whole {
			continue
		}
		if states++; states == 1 {
			a.steps(path, s)
		}
	}
}

// ended waits for the end of the first run of a conversation.
func (a *api) ended(path string) {
	a.t.Helper()
	stream := a.watch(path, agentapi.FromStart)
	for {
		e, err := stream.Next(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == event.KeyStatus && string(u.Value) == `"finished"` {
			return
		}
	}
}

func (a *api) watch(path, after string) agentapi.Stream {
	a.t.Helper()
	c, err := a.engine.Open(a.t.Context(), strings.TrimPrefix(path, "/api/conversations/"))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	stream, err := c.Watch(a.t.Context(), after)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = stream.Close() })
	return stream
}

// step is a request below a conversation, and the status of its answer.
type step struct {
	status     int
	path, body string
}

func (a *api) steps(path string, steps ...step) {
	a.t.Helper()
	for _, s := range steps {
		a.want(s.status, http.MethodPost, path+s.path, s.body, nil)
	}
}

// state is what a conversation is made of, as it is stored.
type state struct {
	Agent struct {
		LLM struct {
			Model string `json:"model"`
			Key   string `json:"api_key"`
		} `json:"llm"`
		Context struct {
			Suffix string            `json:"system_message_suffix"`
			Skills []json.RawMessage `json:"skills"`
		} `json:"agent_context"`
	} `json:"agent"`
	Workspace struct {
		Dir string `json:"working_dir"`
	} `json:"workspace"`
	Policy     json.RawMessage `json:"confirmation_policy"`
	Analyzer   json.RawMessage `json:"security_analyzer"`
	Iterations int             `json:"max_iterations"`
	Stuck      bool            `json:"stuck_detection"`
	Secrets    struct {
		Sources map[string]source `json:"secret_sources"`
	} `json:"secret_registry"`
	Tags map[string]string `json:"tags"`
}

type source struct {
	Kind        string  `json:"kind"`
	Value       *string `json:"value"`
	URL         string  `json:"url"`
	Description *string `json:"description"`
}

// stored reads the state of a conversation from its file, its secrets in the clear, and
// the request that it began with.
func (a *api) stored(id string) (s state, request string) {
	a.t.Helper()
	if err := a.engine.Rest(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	dir, err := a.engine.Log(id)
	if err != nil {
		a.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "base_state.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	if strings.Contains(string(data), "sk-1234") {
		a.t.Error("a key is stored in the clear")
	}
	if err := json.Unmarshal(data, &s); err != nil {
		a.t.Fatal(err)
	}
	for name, one := range s.Secrets.Sources {
		if one.Value == nil {
			continue
		}
		plain, err := unseal(*one.Value)
		if err != nil {
			a.t.Fatal(err)
		}
		one.Value = &plain
		s.Secrets.Sources[name] = one
	}
	record, err := a.engine.Record(a.t.Context(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	return s, string(record.Meta)
}

// rewrite closes a conversation, changes members of the first event of its log that has
// some text, and returns the event's id.
func (a *api) rewrite(id, text string, members map[string]string) string {
	a.t.Helper()
	for _, file := range a.events(id) {
		data, err := os.ReadFile(file)
		if err != nil {
			a.t.Fatal(err)
		}
		if !strings.Contains(string(data), text) {
			continue
		}
		var e map[string]json.RawMessage
		if err := json.Unmarshal(data, &e); err != nil {
			a.t.Fatal(err)
		}
		for name, value := range members {
			e[name] = json.RawMessage(value)
		}
		if data, err = json.Marshal(e); err != nil {
			a.t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			a.t.Fatal(err)
		}
		return strings.Trim(string(e["id"]), `"`)
	}
	a.t.Fatalf("no event has %s", text)
	return ""
}

// events closes a conversation and returns the files of its events, the oldest first.
func (a *api) events(id string) []string {
	a.t.Helper()
	if err := a.engine.Rest(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	dir, err := a.engine.Log(id)
	if err != nil {
		a.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "events", "event-*.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	return files
}

package gate_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

// realDir is a new directory, without symbolic links in its path.
func realDir(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func inDir(dir string) string { return (&url.URL{Path: dir}).EscapedPath() }

const headerWorkspace = "X-OpenHands-Workspace"

func TestAConversationWorksInTheDirectoryThatTheRequestNames(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	g := apitest.Serve(t, b, apitest.MayChoose(workdir.Any), func(c *daemon.Config) { c.StateDir = t.TempDir() })
	dir := realDir(t, "my präject %41")
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, link, dir + "/../" + filepath.Base(dir)} {
		res := g.Chat(apitest.Ask("hi"), headerWorkspace, inDir(name))
		if res.Status != http.StatusOK || res.Header.Get(headerWorkspace) != inDir(dir) {
			t.Errorf("%s: status %d, header %q; want %q", name, res.Status, res.Header.Get(headerWorkspace), inDir(dir))
		}
	}
	for _, req := range b.Opened() {
		if req.Workspace != dir {
			t.Errorf("the conversation works in %q, want %q", req.Workspace, dir)
		}
	}
}

func TestADirectoryIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	root := realDir(t, "allowed")
	inside, outside := filepath.Join(root, "in"), realDir(t, "outside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "way-out")); err != nil {
		t.Fatal(err)
	}
	state := realDir(t, "state")
	any, limited := apitest.MayChoose(workdir.Any), apitest.MayChoose(root)
	owned := func(c *daemon.Config) { c.StateDir = state }
	confined := func(c *daemon.Config) { c.Workspace = root }
	for name, tt := range map[string]struct {
		change []func(*daemon.Config)
		path   string
		extra  []string
		code   string // "": it is taken
	}{
		"any directory":                  {change: []func(*daemon.Config){any}, path: outside},
		"below a token's directory":      {change: []func(*daemon.Config){limited}, path: inside},
		"a token's directory":            {change: []func(*daemon.Config){limited}, path: root},
		"outside a token's directory":    {change: []func(*daemon.Config){limited}, path: outside, code: "forbidden_workspace"},
		"out through a link":             {change: []func(*daemon.Config){limited}, path: root + "/way-out", code: "forbidden_workspace"},
		"out through dots":               {change: []func(*daemon.Config){limited}, path: inside + "/../../" + filepath.Base(outside), code: "forbidden_workspace"},
		"a name that begins the same":    {change: []func(*daemon.Config){limited}, path: root + "-not", code: "forbidden_workspace"},
		"missing, and outside":           {change: []func(*daemon.Config){limited}, path: outside + "/none", code: "forbidden_workspace"},
		"a token without directories":    {path: outside, code: "forbidden_workspace"},
		"inside serve --workspace":       {change: []func(*daemon.Config){any, confined}, path: inside},
		"outside serve --workspace":      {change: []func(*daemon.Config){any, confined}, path: outside, code: "forbidden_workspace"},
		"ohgw's own directory":           {change: []func(*daemon.Config){any, owned}, path: state, code: "forbidden_workspace"},
		"a relative path":                {change: []func(*daemon.Config){any}, path: "in", code: "invalid_value"},
		"a path with a zero byte":        {change: []func(*daemon.Config){any}, path: "/tmp/\x00", code: "invalid_value"},
		"a missing directory":            {change: []func(*daemon.Config){any}, path: root + "/none", code: "workspace_not_found"},
		"a file":                         {change: []func(*daemon.Config){any}, path: os.Args[0], code: "workspace_not_found"},
		"from an allowed web page":       {change: []func(*daemon.Config){any, func(c *daemon.Config) { c.AllowOrigins = []string{"https://ui.example"} }}, path: root, extra: []string{"Origin", "https://ui.example"}, code: "forbidden_workspace"},
		"from a page of the same origin": {change: []func(*daemon.Config){any}, path: root, extra: []string{"Sec-Fetch-Site", "same-origin"}, code: "forbidden_workspace"},
		"without keys":                   {change: []func(*daemon.Config){func(c *daemon.Config) { c.Tokens, c.NoAuth = nil, true }}, path: root, code: "forbidden_workspace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apitest.Script(daemontest.Finish("ok"))
			res := apitest.Serve(t, b, tt.change...).Chat(apitest.Ask("hi"), append([]string{headerWorkspace, inDir(tt.path)}, tt.extra...)...)
			if tt.code == "" {
				if res.Status != http.StatusOK {
					t.Fatalf("status %d: %s", res.Status, res.Body)
				}
				return
			}
			status := http.StatusForbidden
			if tt.code != "forbidden_workspace" {
				status = http.StatusBadRequest
			}
			apitest.Envelope(t, res, status, tt.code, headerWorkspace)
			if b.Runs() != 0 {
				t.Error("it ran")
			}
		})
	}
}

func TestADirectoryIsReadOnlyInASandboxOnly(t *testing.T) {
	t.Parallel()
	const access = "X-OpenHands-Workspace-Access"
	for level, taken := range map[string]bool{"full": true, "reduced": true, "external": false, "off": false} {
		dir, id := realDir(t, "project"), uuid.New()
		b := apitest.Script(daemontest.Finish("ok"))
		boxed := &daemontest.Sandboxed{Backend: b, Box: agentapi.SandboxStatus{Level: level}}
		g := apitest.Serve(t, b, apitest.MayChoose(workdir.Any), func(c *daemon.Config) { c.Backend = boxed })
		reads := []string{"X-OpenHands-ServerConversation-ID", id, headerWorkspace, inDir(dir), access, "read"}
		res := g.Chat(apitest.Ask("hi"), reads...)
		if !taken {
			apitest.Envelope(t, res, http.StatusForbidden, "forbidden_workspace", access)
			continue
		}
		if res.Status != http.StatusOK || len(b.Opened()) != 1 || !b.Opened()[0].ReadOnly {
			t.Fatalf("%s: status %d: %s; opened %+v", level, res.Status, res.Body, b.Opened())
		}
		if res := g.Chat(apitest.Ask("go on"), reads[:2]...); res.Status != http.StatusOK {
			t.Errorf("%s: status %d: %s", level, res.Status, res.Body)
		}
		apitest.Envelope(t, g.Chat(apitest.Ask("now write"), reads[:4]...), http.StatusConflict, "workspace_mismatch", headerWorkspace)
		apitest.Envelope(t, g.Chat(apitest.Ask("odd"), append(reads[:5:5], "own")...), http.StatusBadRequest, "invalid_value", access)
		apitest.Envelope(t, g.Chat(apitest.Ask("no directory"), access, "read"), http.StatusBadRequest, "invalid_value", access)
	}
}

func TestAnAgentServerElsewhereTakesNoDirectory(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	b.Elsewhere = true
	g := apitest.Serve(t, b, apitest.MayChoose(workdir.Any))
	apitest.Envelope(t, g.Chat(apitest.Ask("hi"), headerWorkspace, inDir(t.TempDir())), http.StatusForbidden, "forbidden_workspace", headerWorkspace)
	var h daemon.Health
	if err := json.Unmarshal([]byte(g.Do(http.MethodGet, "/healthz", "").Body), &h); err != nil || h.Workspace == nil || len(h.Workspace.Choose) > 0 || h.Workspace.Reason == "" {
		t.Errorf("health %+v, %v; want the reason", h.Workspace, err)
	}
}

func TestAConversationKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	g := apitest.Serve(t, b, apitest.MayChoose(workdir.Any))
	id, first, second := uuid.New(), realDir(t, "first"), realDir(t, "second")
	conversation := []string{"X-OpenHands-ServerConversation-ID", id, headerWorkspace}
	for i := range 2 { // also from two chats
		if res := g.Chat(apitest.Ask("hi", `"seed":`+string(rune('0'+i))), append(conversation, inDir(first))...); res.Status != http.StatusOK {
			t.Fatalf("status %d: %s", res.Status, res.Body)
		}
	}
	res := g.Chat(apitest.Ask("there"), append(conversation, inDir(second))...)
	apitest.Envelope(t, res, http.StatusConflict, "workspace_mismatch", headerWorkspace)
	if b.Runs() != 2 {
		t.Errorf("%d runs, want 2", b.Runs())
	}
	// Without the header the answer names the directory, for a key that may choose one.
	if res := g.Chat(apitest.Ask("and now"), conversation[:2]...); res.Header.Get(headerWorkspace) != inDir(first) {
		t.Errorf("the answer names %q, want %q: status %d: %s", res.Header.Get(headerWorkspace), inDir(first), res.Status, res.Body)
	}
	// A chat of a UI in that directory, and then in another one.
	chat := []string{"X-Chat-Id", "chat-1", headerWorkspace}
	if res := g.Chat(apitest.Ask("a chat"), append(chat, inDir(first))...); res.Status != http.StatusOK {
		t.Fatalf("status %d: %s", res.Status, res.Body)
	}
}

// A directory of ohgw is removed with its conversation; one of a person is not.
func TestTheRemovalOfAConversationLeavesANamedDirectory(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	dir, state := realDir(t, "mine"), realDir(t, "state")
	file := filepath.Join(dir, "work.txt")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := apitest.Serve(t, b, apitest.MayChoose(workdir.Any), func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, -1 })
	for range 2 {
		if res := g.Chat(apitest.Ask("hi"), headerWorkspace, inDir(dir), "X-OpenHands-Repeat", "run"); res.Status != http.StatusOK {
			t.Fatalf("status %d: %s", res.Status, res.Body)
		}
	}
	waittest.Until(t, waittest.Patience, "two conversations are removed", func() (any, bool) {
		removed := b.Removed()
		return removed, len(removed) >= 2
	})
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file in the directory: %q, %v", data, err)
	}
}

//go:build unix

package engine_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// marketplaces are two directories with a plugin of one name, of which the first has a
// whole plugin besides.
func marketplaces(t *testing.T, heard string) (dir, agent string) {
	t.Helper()
	dir = t.TempDir()
	list := func(entries string) string { return `{"name":"m","owner":{"name":"o"},"plugins":[` + entries + `]}` }
	written(t, dir, map[string]string{
		"one/.plugin/marketplace.json": list(`{"name":"full","source":"./plugins/full"},{"name":"both","source":"./plugins/both"},{"name":"gone","source":"./plugins/gone"},` +
			`{"name":"out","source":"/etc"},{"name":"up","source":"../../etc"},{"name":"net","source":{"source":"github","repo":"a/b"}},{"name":"odd","source":{"source":"x"}},{"name":"link","source":"./link"},` +
			`{"name":"file","source":"file:///etc"}`),
		"one/plugins/both/commands/a.md":      "x",
		"two/.claude-plugin/marketplace.json": list(`{"name":"both","source":"./both"}`),
		"two/both/commands/a.md":              "x",
		"torn/.plugin/marketplace.json":       "{",
		"skills/skills/talk/SKILL.md":         "---\nname: talk\n---\nx",
	})
	fullPlugin(t, filepath.Join(dir, "one/plugins/full"), heard)
	if err := os.Symlink("/etc", filepath.Join(dir, "one/link")); err != nil {
		t.Fatal(err)
	}
	var registered []map[string]string
	for _, name := range []string{"one", "two", "torn", "skills"} {
		registered = append(registered, map[string]string{"name": name, "source": filepath.Join(dir, name)})
	}
	data, err := json.Marshal(registered)
	if err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSuffix(inlineAgent, "}") + `,"agent_context":{"registered_marketplaces":` + string(data) + `}}`
}

// TestAPluginOfAMarketplaceIsLoadedIntoAConversation has its command, server and hook
// after a turn without them, beside the user's own hook, also after the plugin is gone.
func TestAPluginOfAMarketplaceIsLoadedIntoAConversation(t *testing.T) {
	t.Parallel()
	for _, how := range []func(*engine.Config){sealed, func(*engine.Config) {}} {
		heard := filepath.Join(t.TempDir(), "heard")
		dir, agent := marketplaces(t, heard)
		w := newWorld(t, how, hooks(t, [3]string{"PreToolUse", "terminal", "exit 2"}), realTools)
		w.llm.Reply(llmtest.Finish("hello"), llmtest.Tool("echo", `{"text":"hello"}`), terminal("touch made"), llmtest.Finish("ok"))
		w.startIt(control.Start{Agent: json.RawMessage(agent)})
		w.say("go")
		if err := w.backend.Control().LoadPlugin(w.ctx(), w.id, "full@one"); err != nil {
			t.Fatal(err)
		}
		w.conv = nil // it has ended, and is opened again
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w.say("please /full:greet now")
		if data, err := os.ReadFile(heard); err != nil || string(data) != "hello" {
			t.Errorf("the server heard %q, %v", data, err)
		}
		if asked := string(w.llm.Await(t, 2).Body); !strings.Contains(asked, "Say good morning.") {
			t.Errorf("the model was asked %s", asked)
		}
		if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err != nil {
			t.Errorf("the hook of the plugin did not run: %v", err)
		}
		if _, err := os.Stat(filepath.Join(w.workspace, "made")); err == nil {
			t.Error("the user's own hook did not run")
		}
	}
}

func TestPluginsThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	_, agent := marketplaces(t, "")
	w := newWorld(t)
	w.startIt(control.Start{Agent: json.RawMessage(agent)})
	before := w.stored("base_state.json")
	for ref, want := range map[string]struct {
		kind error
		text string
	}{
		"":            {agentapi.ErrRefused, "Give plugin_ref"},
		"full@":       {agentapi.ErrRefused, "Give plugin_ref"},
		"@one":        {agentapi.ErrRefused, "Give plugin_ref"},
		"none":        {control.ErrNoPlugin, "Plugin 'none' not found in any registered marketplace"},
		"none@one":    {control.ErrNoPlugin, "Plugin 'none' not found in marketplace 'one'"},
		"full@none":   {control.ErrNoPlugin, "Marketplace 'none' is not registered"},
		"talk@skills": {control.ErrNoPlugin, "not found in marketplace 'skills'"},
		"both":        {agentapi.ErrRefused, "in more than one marketplace: one, two"},
		"full@torn":   {agentapi.ErrRefused, "is not a valid list of plugins"},
		"gone":        {agentapi.ErrRefused, "there is no such directory"},
		"out@one":     {agentapi.ErrRefused, "leads out of it"},
		"up@one":      {agentapi.ErrRefused, "there is no such directory"},
		"net":         {agentapi.ErrRefused, "is on the network"},
		"odd@one":     {agentapi.ErrRefused, "of an unknown kind"},
		"link":        {agentapi.ErrRefused, "leads out of the source"},
		"file@one":    {agentapi.ErrRefused, "is not a git repository"},
	} {
		err := w.backend.Control().LoadPlugin(w.ctx(), w.id, ref)
		if !errors.Is(err, want.kind) || !strings.Contains(agentapi.PublicMessage(err, ""), want.text) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if after := w.stored("base_state.json"); after != before {
		t.Errorf("it was changed: %s", after)
	}
	if err := w.backend.Control().LoadPlugin(w.ctx(), "11111111-2222-4333-8444-555555555555", "full"); !errors.Is(err, agentapi.ErrConversationNotFound) {
		t.Errorf("without a conversation: %v", err)
	}
	other := newWorld(t)
	other.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	if err := other.backend.Control().LoadPlugin(w.ctx(), other.id, "full"); !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(err.Error(), "has no marketplaces") {
		t.Errorf("without marketplaces: %v", err)
	}
}

// A run goes on as it has begun: the plugin is refused, and loaded after its end. What is
// loaded has its agents, too.
func TestAPluginIsNotLoadedDuringARun(t *testing.T) {
	t.Parallel()
	dir, agent := marketplaces(t, "")
	written(t, dir, map[string]string{"one/plugins/both/agents/critic.md": "---\nname: critic\ndescription: D.\n---\nYou are strict."})
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{End: llmtest.Hang})
	conv := w.startIt(control.Start{Agent: json.RawMessage(agent)})
	if err := conv.Append(w.ctx(), control.Message{Content: []event.Content{event.Text("go")}}, true); err != nil {
		t.Fatal(err)
	}
	w.llm.Await(t, 1)
	if err := w.backend.Control().LoadPlugin(w.ctx(), w.id, "both@one"); !errors.Is(err, agentapi.ErrBusy) {
		t.Errorf("during a run: %v", err)
	}
	if err := conv.Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := w.backend.Control().LoadPlugin(w.ctx(), w.id, "both@one"); err != nil {
		t.Fatal(err)
	}
	if meta := w.stored("meta.json"); !strings.Contains(meta, "You are strict.") {
		t.Errorf("meta.json = %s, want %q in it", meta, "You are strict.")
	}
}

// TestSocketsStayWhenAPluginIsLoaded has several sockets of one conversation: those of its
// events, and those of its session, one of which begins behind a number. Each event comes
// once on each of them, and the agent has the plugin.
func TestSocketsStayWhenAPluginIsLoaded(t *testing.T) {
	t.Parallel()
	_, agent := marketplaces(t, filepath.Join(t.TempDir(), "heard"))
	w := newWorld(t, sealed, realTools)
	w.llm.Reply(llmtest.Finish("one"), llmtest.Finish("two"), llmtest.Finish("three"), llmtest.Finish("four"))
	w.llm.On(llmtest.Says("from a socket"), llmtest.Finish("five"))
	w.startIt(control.Start{Agent: json.RawMessage(agent)})
	w.say("first")
	server := live.New(live.Config{Engine: w.backend.Control(), Now: time.Now, NewID: uuid.New})
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { server.Socket(rw, r, true, nil) }))
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		h.Close()
	})
	before := len(w.log())
	sockets := make(map[string]*websocket.Conn)
	for _, path := range []string{"events/" + w.id, "events/" + w.id + "?resend_mode=all", "session/" + w.id, "session/" + w.id + "?after_seq=-1", "session/" + w.id + "?after_seq=2"} {
		conn, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/sockets/"+path, nil)
		if err != nil {
			t.Fatalf("%s: %v (%v)", path, err, resp)
		}
		conn.SetReadLimit(-1)
		t.Cleanup(func() { _ = conn.CloseNow() })
		if _, _, err := conn.Read(t.Context()); err != nil { // it watches from here on
			t.Fatal(err)
		}
		sockets[path] = conn
	}
	for _, ref := range []string{"full", "both@one", "both@two"} {
		if err := w.backend.Control().LoadPlugin(w.ctx(), w.id, ref); err != nil {
			t.Fatal(err)
		}
		w.conv = nil
		w.say(ref)
	}
	if err := sockets["events/"+w.id].Write(t.Context(), websocket.MessageText, []byte(`{"role":"user","content":[{"type":"text","text":"from a socket"}]}`)); err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for path, conn := range sockets {
		got[path] = storedIDs(t, conn, "from a socket")
	}
	for path, ids := range got {
		from := map[string]int{"events/" + w.id: before, "session/" + w.id: before, "session/" + w.id + "?after_seq=2": 3}[path]
		var want []string
		for _, e := range w.log()[from:] {
			if e.Kind() != "ConversationStateUpdateEvent" {
				want = append(want, e.ID)
			}
			if m, ok := e.Body.(*event.Message); ok && strings.Contains(event.PlainText(m.LLMMessage.Content), "from a socket") {
				break
			}
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if skills := strings.Join(w.storedSkills(), "\n"); !strings.Contains(skills, "full:") {
		t.Errorf("the agent has the skills %q", skills)
	}
}

// storedIDs are the ids of the events of the log that come on a socket, those that tell of
// the state left out, until a message has a text.
func storedIDs(t *testing.T, conn *websocket.Conn, last string) (ids []string) {
	t.Helper()
	for {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Fatalf("behind %d events: %v", len(ids), err)
		}
		var frame struct {
			ID, Kind string
			Event    struct{ ID, Kind string }
		}
		if err := json.Unmarshal(data, &frame); err != nil {
			t.Fatal(err)
		}
		kind := frame.Kind + frame.Event.Kind
		id := frame.ID + frame.Event.ID
		if id == "" || kind == "ConversationStateUpdateEvent" || kind == "StreamingDeltaEvent" {
			continue
		}
		ids = append(ids, id)
		if kind == "MessageEvent" && strings.Contains(string(data), last) {
			return ids
		}
	}
}

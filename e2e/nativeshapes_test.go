//go:build e2e

package e2e_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

//go:embed python/shapes.py
var shapesScript string

// TestTheShapesOfTheNewestAgentServer has OpenHands' own models read all that a client is
// told of conversations, and tell what they would have written in its place.
func TestTheShapesOfTheNewestAgentServer(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	g := serveEmbedded(t, racyProgram(t), llm.URL, "--native", "--sandbox", "off")
	told := struct {
		Events []json.RawMessage `json:"events"`
		Infos  []json.RawMessage `json:"infos"`
	}{}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := shapedConversation(t, g, llm.URL, dir)
	base := "/api/conversations/" + id
	var done any // what is answered to a change
	watching := follow(t, g, id)
	for _, text := range []string{
		`zebra [[say Looking.]] [[tool terminal {"command":"ls"}]] [[tool file_editor {"command":"view","path":"` + dir + `/a.txt"}]]` +
			` [[tool think {"thought":"well"}]] then [[tool nope {}]] then [[tool glob {"pattern":"*"}]] [[tool grep {"pattern":"one"}]]` +
			` [[tool file_editor {"command":"str_replace","path":"` + dir + `/a.txt","old_str":"one","new_str":"two"}]]` +
			` [[tool task_tracker {"command":"plan","task_list":[{"title":"t","status":"todo"}]}]] then [[finish Done.]]`,
		`[[say Only words.]]`,
		`[[fail 400 nonsense]]`,
	} {
		g.native(t, http.MethodPost, base+"/events", say(text), &done)
		watching.settled(t)
	}
	g.native(t, http.MethodPost, base+"/confirmation_policy", `{"policy":{"kind":"AlwaysConfirm"}}`, &done)
	g.native(t, http.MethodPost, base+"/events", say(`[[tool terminal {"command":"false"}]] then [[finish No.]]`), &done)
	watching.settled(t)
	g.native(t, http.MethodPost, base+"/events/respond_to_confirmation", `{"accept":false,"reason":"no"}`, &done)
	g.native(t, http.MethodPatch, base, `{"title":"T","tags":{"a":"b"}}`, &done)
	told.Events = append(allEvents(t, g, base), watching.all()...)
	var fork struct {
		ID string `json:"id"`
	}
	g.native(t, http.MethodPost, base+"/fork", `{}`, &fork)
	for _, one := range []string{id, fork.ID} {
		var info json.RawMessage
		g.native(t, http.MethodGet, "/api/conversations/"+one, ``, &info)
		told.Infos = append(told.Infos, info)
	}
	kinds, differences := judged(t, told)
	if diff := cmp.Diff([]string{}, differences); diff != "" {
		t.Errorf("(-explained +found):\n%s", diff)
	}
	for _, kind := range shapedKinds() {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no %s was told", kind)
		}
	}
}

// judged has the SDK tell which kinds of events it read, and what it would have written in
// another shape.
func judged(t *testing.T, told any) (kinds, differences []string) {
	t.Helper()
	data, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.MkdirTemp("/tmp", "ohgw-shapes-") // where the SDK sees it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(seen) })
	file := filepath.Join(seen, "told.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct{ Kinds, Differences []string }
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, seen, shapesScript, file)), &got); err != nil {
		t.Fatal(err)
	}
	return got.Kinds, got.Differences
}

// shapedKinds are kinds of events that the test is about.
func shapedKinds() []string {
	return []string{
		"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "ConversationStateUpdateEvent",
		"ConversationErrorEvent", "UserRejectObservation", "StreamingDeltaEvent",
	}
}

func say(text string) string {
	data, _ := json.Marshal(map[string]any{"role": "user", "run": true, "content": []any{map[string]string{"type": "text", "text": text}}}) // of strings
	return string(data)
}

// shapedConversation starts a conversation whose agent has many tools and a skill.
func shapedConversation(t *testing.T, g *gateway, llmURL, dir string) string {
	t.Helper()
	var tools []any
	for _, name := range []string{"terminal", "file_editor", "task_tracker", "glob", "grep"} {
		tools = append(tools, map[string]any{"name": name})
	}
	body, err := json.Marshal(map[string]any{
		"workspace": map[string]any{"working_dir": dir},
		"agent_settings": map[string]any{
			"agent_kind": "openhands", "tools": tools, "llm": map[string]any{"model": "openai/test", "base_url": llmURL, "api_key": "sk-llm-test", "num_retries": 0, "stream": true},
			"agent_context": map[string]any{"skills": []any{
				map[string]any{"name": "s", "content": "Stripes.", "source": "public", "trigger": map[string]any{"type": "keyword", "keywords": []string{"zebra"}}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID string `json:"id"`
	}
	g.native(t, http.MethodPost, "/api/conversations", string(body), &made)
	return made.ID
}

// follower is a client that keeps every frame of a conversation.
type follower struct {
	stop     context.CancelFunc
	reading  sync.WaitGroup
	frames   []json.RawMessage // by the reader
	statuses chan string       // those that it was told
}

// follow reads the socket of a conversation.
func follow(t *testing.T, g *gateway, id string) *follower {
	t.Helper()
	at := "ws" + strings.TrimPrefix(g.URL, "http") + "/sockets/events/" + id + "?resend_mode=all"
	conn, _, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{HTTPHeader: http.Header{"X-Session-API-Key": {gatewayKey}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{stop: stop, statuses: make(chan string, 1000)}
	f.reading.Go(func() {
		defer close(f.statuses)
		defer func() { _ = conn.CloseNow() }()
		for {
			_, frame, err := conn.Read(ctx)
			if err != nil {
				return
			}
			f.frames = append(f.frames, frame)
			var e struct {
				Key   string
				Value any
			}
			if json.Unmarshal(frame, &e) == nil && e.Key == "execution_status" {
				status, _ := e.Value.(string)
				f.statuses <- status
			}
		}
	})
	return f
}

// settled waits for the end of a run.
func (f *follower) settled(t *testing.T) {
	t.Helper()
	for status := range f.statuses {
		if status != "running" && status != "idle" {
			return
		}
	}
	t.Fatal("the socket ended before the run")
}

// all ends the socket and returns what came on it.
func (f *follower) all() []json.RawMessage {
	f.stop()
	f.reading.Wait()
	return f.frames
}

// allEvents are those of the log by REST.
func allEvents(t *testing.T, g *gateway, base string) (all []json.RawMessage) {
	t.Helper()
	for page := ""; ; {
		var got struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next_page_id"`
		}
		g.native(t, http.MethodGet, base+"/events/search?limit=100&page_id="+url.QueryEscape(page), ``, &got)
		all = append(all, got.Items...)
		if page = got.Next; page == "" {
			return all
		}
	}
}

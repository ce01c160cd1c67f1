package conversations_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/nativetest"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

func TestOnlyACondenserCondenses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for condenser, want := range map[string]int{
		``:                                      http.StatusConflict,
		`,"condenser":null`:                     http.StatusConflict,
		`,"condenser":{"kind":"NoOpCondenser"}`: http.StatusConflict,
		`,"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/m"}}`: http.StatusOK,
	} {
		var made struct{ ID string }
		a.want(http.StatusCreated, http.MethodPost, "/api/conversations", `{"agent":{"kind":"Agent","llm":{"model":"openai/m"}`+condenser+`},`+workMember+`}`, &made)
		code, got := a.ask(http.MethodPost, "/api/conversations/"+made.ID+"/condense", "")
		if code != want || want == http.StatusConflict && !strings.Contains(got, "Cannot condense conversation: ") {
			t.Errorf("%s: %d %s, want %d", condenser, code, got, want)
		}
	}
}

// A client that has not seen the answer of a create sends it again, maybe before the
// first one is done. A second worktree would have the first one's branch.
func TestCreatesOfOneIDAreOne(t *testing.T) {
	t.Parallel()
	const id, number = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b19", 8
	dir := t.TempDir()
	if err := makeRepository(dir); err != nil {
		t.Fatal(err)
	}
	worktrees := 0 // the race detector tells of two at once
	handler := openhandsapi.New(openhandsapi.Config{Routes: conversations.Routes(conversations.Config{
		Engine: &nativetest.Engine{}, Dir: dir,
		Worktree: func(_ context.Context, _, dir string) (conversations.Worktree, error) {
			worktrees++
			return conversations.Worktree{Dir: dir, Root: dir, Branch: "b"}, nil
		},
	})})
	body := `{` + agentMember + `,"workspace":{"working_dir":"` + filepath.ToSlash(dir) + `"},"worktree":true,"conversation_id":"` + id + `"}`
	codes := make([]int, number)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/conversations", strings.NewReader(body)))
			codes[i] = w.Code
		})
	}
	all.Wait()
	made := 0
	for _, code := range codes {
		switch code {
		case http.StatusCreated:
			made++
		case http.StatusOK:
		default:
			t.Errorf("answered %v", codes)
		}
	}
	if made != 1 || worktrees != 1 {
		t.Errorf("%d conversations and %d worktrees: %v", made, worktrees, codes)
	}
}

func TestSwitchedLLMHasItsConnection(t *testing.T) {
	t.Parallel()
	engine := &nativetest.Engine{}
	handler := openhandsapi.New(openhandsapi.Config{Routes: conversations.Routes(conversations.Config{
		Engine: engine, Dir: t.TempDir(),
		LLM: func(llm json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(llm), "gone") {
				return nil, wire.Refuse(http.StatusUnprocessableEntity, "no connection")
			}
			return json.RawMessage(`{"model":"resolved"}`), nil
		},
	})})
	ask := func(path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		return w
	}
	var made struct{ ID string }
	if err := json.Unmarshal(ask("/api/conversations", minimal).Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	path := "/api/conversations/" + made.ID + "/switch_llm"
	c, err := engine.Get(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(path, `{"llm":{"model":"openai/x","provider_connection_id":"gone"}}`); w.Code != http.StatusUnprocessableEntity || c.LLM != nil {
		t.Errorf("a connection that is gone: %d %s, switched to %s", w.Code, w.Body, c.LLM)
	}
	if w := ask(path, `{"llm":{"model":"openai/x","provider_connection_id":"there"}}`); w.Code != http.StatusOK || string(c.LLM) != `{"model":"resolved"}` {
		t.Errorf("a connection that is there: %d %s, switched to %s", w.Code, w.Body, c.LLM)
	}
}

func makeRepository(dir string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o700) }

func TestAConversationRunsHere(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	type runtime struct {
		Status string `json:"runtime_status"`
		Resume bool   `json:"can_resume"`
	}
	here := runtime{"available", true}
	var asked, again runtime
	var info struct {
		Runtime runtime `json:"runtime_info"`
	}
	a.want(http.StatusOK, http.MethodGet, path+"/runtime", "", &asked)
	a.want(http.StatusOK, http.MethodPost, path+"/runtime/reprovision", "", &again)
	a.want(http.StatusOK, http.MethodGet, path, "", &info)
	if asked != here || again != here || info.Runtime != here {
		t.Errorf("runtimes %+v, %+v, %+v", asked, again, info.Runtime)
	}
	a.want(http.StatusNotFound, http.MethodGet, nobody+"/runtime", "", nil)
	a.want(http.StatusNotFound, http.MethodPost, nobody+"/runtime/reprovision", "", nil)
}

func TestEventsThatAreLeftOutAreCounted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	for _, leftOut := range []int{0, 7} {
		a.engine.LeftOut = leftOut
		for _, at := range []string{path, path + "/events/search", path + "/events/search?sort_order=TIMESTAMP_DESC"} {
			var got map[string]json.RawMessage
			a.want(http.StatusOK, http.MethodGet, at, "", &got)
			want := ""
			if leftOut > 0 {
				want = "7"
			}
			if string(got["events_left_out"]) != want {
				t.Errorf("%s: %s, want %q", at, got["events_left_out"], want)
			}
		}
	}
}

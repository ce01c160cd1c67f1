package conversations_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
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
			t.Errorf("%s: status = %d, body = %s, want %d", condenser, code, got, want)
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
	a := newAPI(t, func(c *conversations.Config) {
		c.Worktree = func(_ context.Context, _, dir string) (conversations.Worktree, error) {
			worktrees++
			return conversations.Worktree{Dir: dir, Root: dir, Branch: "b"}, nil
		}
	})
	body := `{` + agentMember + `,"workspace":{"working_dir":"` + filepath.ToSlash(dir) + `"},"worktree":true,"conversation_id":"` + id + `"}`
	codes := make([]int, number)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() { codes[i], _ = a.ask(http.MethodPost, "/api/conversations", body) })
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
	a := newAPI(t, func(c *conversations.Config) {
		c.LLM = func(llm json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(llm), "gone") {
				return nil, wire.Refuse(http.StatusUnprocessableEntity, "no connection")
			}
			return json.RawMessage(`{"model":"openai/resolved","usage_id":"new"}`), nil
		}
	})
	path, id := a.begin()
	model := func() string { s, _ := a.stored(id); return s.Agent.LLM.Model }
	a.want(http.StatusUnprocessableEntity, http.MethodPost, path+"/switch_llm", `{"llm":{"model":"openai/x","provider_connection_id":"gone"}}`, nil)
	if got := model(); got != "openai/m" {
		t.Errorf("a connection that is gone: switched to %s", got)
	}
	a.want(http.StatusOK, http.MethodPost, path+"/switch_llm", `{"llm":{"model":"openai/x","provider_connection_id":"there"}}`, nil)
	if got := model(); got != "openai/resolved" {
		t.Errorf("a connection that is there: switched to %s", got)
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
	path, id := a.begin()
	a.say(path, "hi")
	ask := func(want string) {
		t.Helper()
		for _, at := range []string{path, path + "/events/search", path + "/events/search?sort_order=TIMESTAMP_DESC"} {
			var got map[string]json.RawMessage
			a.want(http.StatusOK, http.MethodGet, at, "", &got)
			if string(got["events_left_out"]) != want {
				t.Errorf("%s: events_left_out = %s, want %q", at, got["events_left_out"], want)
			}
		}
	}
	ask("")
	files := a.events(id)
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	ask(strconv.Itoa(len(files) - 2))
}

package conversations_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// started is the answer for a part.
type started struct {
	ID        string  `json:"conversation_id"`
	Parent    string  `json:"parent_conversation_id"`
	Title     *string `json:"title"`
	URL       *string `json:"url"`
	Status    string  `json:"status"`
	Workspace string  `json:"workspace"`
	Isolation string  `json:"isolation"`
}

func TestAPartOfAConversation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, parent := a.begin()
	var got started
	a.want(http.StatusCreated, http.MethodPost, path+"/children", `{"task":"Look around.","title":"Look","unknown":1}`, &got)
	if got.Parent != parent || got.Title == nil || *got.Title != "Look" || got.URL != nil || got.Status == "" || got.Workspace != filepath.Join(a.dir, "w") || got.Isolation != "shared" {
		t.Errorf("a part: %+v", got)
	}
	if s, _ := a.stored(got.ID); s.Agent.Context.Suffix != "" {
		t.Errorf("started as %+v", s)
	}
	var page struct {
		Items []struct {
			Source  string
			Message struct{ Content []struct{ Text string } } `json:"llm_message"`
		}
	}
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/"+got.ID+"/events/search?kind=MessageEvent", "", &page)
	if len(page.Items) == 0 || page.Items[0].Source != "user" || page.Items[0].Message.Content[0].Text != "Look around." {
		t.Errorf("its log: %+v", page)
	}
	a.want(http.StatusCreated, http.MethodPost, path+"/children", `{"task":"x","isolation":"shared"}`, &got)
	if got.Title != nil {
		t.Errorf("a title that nobody gave: %q", *got.Title)
	}
}

// The answers are those of an agent-server of version 1.58.2.
func TestWhatIsWrongWithAPart(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	const literal = `{"type":"literal_error","loc":["body","isolation"],"msg":"Input should be 'worktree' or 'shared'","input":`
	for body, want := range map[string]string{
		"":              `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`,
		"{}":            `{"detail":[{"type":"missing","loc":["body","task"],"msg":"Field required","input":{}}]}`,
		`[]`:            `"model_attributes_type"`,
		`{"task":""}`:   `{"detail":[{"type":"string_too_short","loc":["body","task"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}]}`,
		`{"task":null}`: `{"detail":[{"type":"string_type","loc":["body","task"],"msg":"Input should be a valid string","input":null}]}`,
		`{"task":5,"isolation":"x","title":7}`: `{"detail":[{"type":"string_type","loc":["body","task"],"msg":"Input should be a valid string","input":5},` +
			`{"type":"string_type","loc":["body","title"],"msg":"Input should be a valid string","input":7},` + literal + `"x","ctx":{"expected":"'worktree' or 'shared'"}}]}`,
		`{"task":"x","isolation":null}`: literal + `null`,
		`{"task":"x","isolation":[]}`:   literal + `[]`,
	} {
		if code, got := a.ask(http.MethodPost, path+"/children", body); code != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
			t.Errorf("%s: status = %d, body = %s, want %s", body, code, got, want)
		}
	}
	code, got := a.ask(http.MethodPost, "/api/conversations/7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11/children", `{"task":"x"}`)
	if code != http.StatusNotFound || strings.TrimSpace(got) != `{"detail":"Parent conversation not found"}` {
		t.Errorf("status = %d, want 404, body = %s", code, got)
	}
	if code, _ := a.ask(http.MethodPost, "/api/conversations/none/children", `{"task":"x"}`); code != http.StatusUnprocessableEntity {
		t.Errorf("an id that is none: %d", code)
	}
}

// TestAPartInAWorktree works beside the whole, and is told so.
func TestAPartInAWorktree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := conversations.Worktree{Dir: filepath.Join(dir, "tree"), Root: filepath.Join(dir, "tree"), Branch: "openhands/part"}
	var failed error
	a := newAPI(t, func(c *conversations.Config) {
		c.Dir, c.Worktree = dir, func(context.Context, string, string) (conversations.Worktree, error) { return made, failed }
	})
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "w", ".git"), 0o750), os.Mkdir(made.Dir, 0o750)); err != nil {
		t.Fatal(err)
	}
	path, _ := a.begin()
	path += "/children"
	var got started
	a.want(http.StatusCreated, http.MethodPost, path, `{"task":"x"}`, &got)
	if s, _ := a.stored(got.ID); got.Isolation != "worktree" || got.Workspace != made.Dir || s.Workspace.Dir != made.Dir || !strings.Contains(s.Agent.Context.Suffix, made.Branch) {
		t.Errorf("a part %+v, started as %+v", got, s)
	}
	failed = pydantic.Refuse(pydantic.Fault{Type: "value_error", Loc: []any{"body", "worktree"}, Msg: "Value error, no", Input: true})
	code, text := a.ask(http.MethodPost, path, `{"task":"x"}`)
	if want := `"loc":["body","isolation"]`; code != http.StatusUnprocessableEntity || !strings.Contains(text, want) || !strings.Contains(text, "shared") {
		t.Errorf("status = %d, body = %s, want %s", code, text, want)
	}
	a.want(http.StatusCreated, http.MethodPost, path, `{"task":"x","isolation":"shared"}`, &got)
	if got.Isolation != "shared" || got.Workspace != filepath.Join(dir, "w") {
		t.Errorf("a part %+v", got)
	}
}

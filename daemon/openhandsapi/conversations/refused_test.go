package conversations_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestWhatIsRefused compares with what an agent-server has answered: 1.43.1, or 1.58.2 where the two
// differ.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	data, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(block, "\n")
		request := strings.SplitN(lines[0], " ", 3)
		status, want, _ := strings.Cut(lines[1], " ")
		body := ""
		if len(request) == 3 {
			body = strings.NewReplacer("AGENT", agentMember, "WORK", workMember).Replace(request[2])
		}
		path := strings.ReplaceAll(request[1], "NOBODY", nobody)
		code, got := a.ask(request[0], path, body)
		if strconv.Itoa(code) != status || !same(got, want) {
			t.Errorf("%s\n got %d %s\nwant %s %s", lines[0], code, got, status, want)
		}
	}
}

func same(got, want string) bool {
	want = strings.NewReplacer("AGENT", strings.ReplaceAll(agentMember, "sk-1234", "<redacted>"), "WORK", workMember).Replace(want)
	return normal(got) == normal(want)
}

func TestSecretsOfARefusedRequestAreNotShown(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, body := range []string{
		`{` + agentMember + `}`,
		`{` + agentMember + `,` + workMember + `,"secrets":{"A":"sk-1234"}}`,
		`{` + agentMember + `,` + workMember + `,"secrets":{"A":{"kind":"LookupSecret","headers":{"x":"sk-1234"}}}}`,
		`{"agent":{"llm":{"model":"m","api_key":{"x":"sk-1234"}}},` + workMember + `}`,
		`{"agent":{"llm":{"api_key":"sk-1234"}},` + workMember + `}`,
	} {
		code, got := a.ask(http.MethodPost, "/api/conversations", body)
		if code != http.StatusUnprocessableEntity || strings.Contains(got, "sk-1234") {
			t.Errorf("%s: status = %d, want 422, body = %s", body, code, got)
		}
	}
}

// normal is an answer without the details of a parser.
func normal(body string) string {
	var answer struct {
		Detail any `json:"detail"`
	}
	if json.Unmarshal([]byte(body), &answer) != nil {
		return body
	}
	list, ok := answer.Detail.([]any)
	if !ok {
		return body
	}
	for _, one := range list {
		invalid := one.(map[string]any)
		if kind := invalid["type"]; kind == "uuid_parsing" || kind == "json_invalid" || kind == "datetime_from_date_parsing" {
			delete(invalid, "ctx")
			invalid["msg"], _, _ = strings.Cut(invalid["msg"].(string), ",")
		}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return string(data)
}

// The agent canvas asks for a worktree for every conversation. Without a repository
// there is none to make; in one, the agent must not work in the user's own files.
func TestAWorktreeIsForRepositoriesAlone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	dir := t.TempDir()
	start := func(working string) (int, string) {
		return a.ask(http.MethodPost, "/api/conversations", `{`+agentMember+`,"workspace":{"working_dir":"`+filepath.ToSlash(working)+`"},"worktree":true}`)
	}
	if code, got := start(filepath.Join(dir, "new")); code != http.StatusCreated {
		t.Errorf("no repository: %d %s", code, got)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, got := start(filepath.Join(dir, "new")); code != http.StatusUnprocessableEntity || !strings.Contains(got, "no git worktrees") {
		t.Errorf("in a repository: %d %s", code, got)
	}
}

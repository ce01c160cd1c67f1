//go:build e2e

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// told is what an editor was told of a prompt.
type told struct {
	Stop  string
	Text  string
	Kinds []string
	Calls []struct {
		Title, Status, Kind string
		Content             []struct{ Type, Path, NewText string }
	}
	Asked []struct {
		Title   string
		Options []string
	}
}

// TestAnEditorWorksWithTheAgent runs the protocol's own client library against
// ohgw acp, with the embedded agent and a scripted LLM.
func TestAnEditorWorksWithTheAgent(t *testing.T) {
	python := need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python"))
	llm := llmtest.New(t)
	home, project := t.TempDir(), t.TempDir()
	profile := filepath.Join(home, ".openhands", "profiles", "scripted.json")
	if err := os.MkdirAll(filepath.Dir(profile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profile, fmt.Appendf(nil, `{"model":"openai/test","base_url":%q,"num_retries":1}`, llm.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(project, "hello.txt")
	request, err := json.Marshal(map[string]any{
		"command": []string{plainProgram(t), "acp"}, "cwd": project,
		"env": map[string]string{
			"HOME": home, "PATH": os.Getenv("PATH"), "XDG_RUNTIME_DIR": filepath.Join(home, "run"), "OHGW_BACKEND": "embedded", "OPENAI_API_KEY": "sk-llm-test",
		},
		"edit":     fmt.Sprintf(`[[say I write it.]] [[tool file_editor {"command":"create","path":%q,"file_text":"hi\n"}]] then [[finish It is there.]]`, file),
		"allowed":  `[[tool terminal {"command":"touch allowed"}]] then [[finish Done.]]`,
		"rejected": `[[tool terminal {"command":"touch rejected"}]] then [[finish Not done.]]`,
		"hanging":  `[[tool terminal {"command":"sleep 600"}]] then [[finish Never.]]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("python", "acp_editor.py"))
	cmd.Stdin = strings.NewReader(string(request))
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the program: %v\n%s\n%s", err, out, diagnostics.String())
	}
	var got struct {
		Edit, Allowed, Rejected, Hanging, Loaded told
		Error                                    struct{ Message string }
		Exit                                     int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reading the output as JSON: %v\n%s", err, out)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "hi\n" {
		t.Errorf("file = %q, error %v", data, err)
	}
	last := got.Edit.Calls[len(got.Edit.Calls)-1]
	if got.Edit.Stop != "end_turn" || !strings.HasSuffix(got.Edit.Text, "It is there.") || last.Status != "completed" || last.Content[0].Type != "diff" || last.Content[0].Path != file || last.Content[0].NewText != "hi\n" {
		t.Errorf("edit = %+v", got.Edit)
	}
	if asked := got.Allowed.Asked; len(asked) != 1 || asked[0].Title != "touch allowed" || !slices.Equal(asked[0].Options, []string{"allow", "allow_always", "reject"}) {
		t.Errorf("questions = %+v", asked)
	}
	for name, want := range map[string]error{"allowed": nil, "rejected": fs.ErrNotExist} {
		if _, err := os.Stat(filepath.Join(project, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got.Rejected.Stop != "end_turn" || !slices.Contains(statuses(got.Rejected), "failed") {
		t.Errorf("rejected = %+v", got.Rejected)
	}
	if got.Hanging.Stop != "cancelled" {
		t.Errorf("hanging = %+v", got.Hanging)
	}
	if !strings.Contains(got.Error.Message, `there is no session "none"`) || got.Exit != 0 {
		t.Errorf("error = %+v, exit code %d", got.Error, got.Exit)
	}
	if !slices.Contains(got.Loaded.Kinds, "user_message_chunk") || !strings.Contains(got.Loaded.Text, "It is there.") || len(got.Loaded.Calls) < 3 {
		t.Errorf("loaded = %+v", got.Loaded)
	}
}

// statuses are those that the actions of a prompt had.
func statuses(p told) []string {
	var all []string
	for _, c := range p.Calls {
		all = append(all, c.Status)
	}
	return all
}

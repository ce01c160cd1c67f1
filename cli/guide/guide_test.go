package guide

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/setup/firstrun"
)

// person answers questions; what is typed hidden is among the lines.
type person struct {
	*clitest.App

	shown *strings.Builder
}

// newPerson returns a person with an empty home, who types these lines.
func newPerson(t *testing.T, lines ...string) *person {
	t.Helper()
	// What may be on this machine is not looked at.
	nowhere := "127.0.0.1:1"
	a := clitest.New(t, map[string]string{
		"OH_PERSISTENCE_DIR": t.TempDir(), "OHGW_BACKEND": "embedded", "OLLAMA_HOST": nowhere, "LM_STUDIO_API_BASE": nowhere, "HOSTED_VLLM_API_BASE": nowhere,
	})
	p := &person{App: a, shown: &strings.Builder{}}
	stdin := strings.NewReader(strings.Join(lines, "\n") + "\n")
	a.Stdin, a.StdinTTY, a.Stderr = stdin, true, iostream.New(p.shown, true, nil)
	a.ReadHidden = func(_ context.Context, question string, _ func()) ([]byte, error) {
		p.shown.WriteString(question)
		var line []byte
		for b := make([]byte, 1); ; line = append(line, b[0]) {
			if _, err := stdin.Read(b); err != nil || b[0] == '\n' {
				return line, err
			}
		}
	}
	return p
}

func (p *person) wantShown(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.shown.String(), text) {
			t.Errorf("no %q in\n%s", text, p.shown)
		}
	}
	if strings.Contains(p.shown.String(), "FIXTURE") {
		t.Errorf("the key is in\n%s", p.shown)
	}
}

func TestWhatWasTypedIsKeptWhenAStepFails(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	server.Models("good", "bad")
	server.RequireKey("FIXTURE-0123456789-good")
	server.On(llmtest.Model("bad"), llmtest.Fail(404, "The model bad does not exist."))
	p := newPerson(t, "other", server.URL, "key", "FIXTURE-0123456789-wrong", "key", "FIXTURE-0123456789-good", "bad", "", "good")
	out, err := Run(t.Context(), &Options{App: p.App.App, Name: "work"})
	if err != nil || out.Name != "work" || !out.Active || len(out.Keys) != 1 {
		t.Fatalf("Run = %+v, %v\n%s", out, err, p.shown)
	}
	p.wantShown(t, "This does not work yet: 401", "This does not work yet: 404", "What now [3]: ")
	if n := strings.Count(p.shown.String(), "Base URL: "); n != 1 {
		t.Errorf("the base URL was asked for %d times\n%s", n, p.shown)
	}
}

// An agent-server has profiles of its own: none is stored, but the choice is.
func TestTheChoiceOfAnAgentServerIsKept(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t, fakeserver.Options{})
	p := newPerson(t, "agent-server")
	getenv := p.Getenv
	p.Getenv = func(name string) string {
		if name == "OHGW_BACKEND" {
			return ""
		}
		return getenv(name)
	}
	p.Usual = func(string) string { return strings.TrimPrefix(server.URL, "http://") }
	out, err := Run(t.Context(), &Options{App: p.App.App, Chat: true})
	if err != nil || out.Name != "" {
		t.Fatalf("Run = %+v, %v\n%s", out, err, p.shown)
	}
	dirs, err := p.Setup().Dirs()
	if err != nil {
		t.Fatal(err)
	}
	if !firstrun.ChoseServer(dirs, server.URL) || firstrun.ChoseServer(dirs, server.URL+"0") {
		t.Error("the choice was not stored")
	}
}

func TestWithoutAStoreTheProfileIsStoredWithoutAKey(t *testing.T) {
	t.Parallel()
	absent := t.TempDir()
	if err := os.WriteFile(filepath.Join(absent, "absent"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, "anthropic", "n", "claude-sonnet-4-6")
	p.Keyring = secrettest.FileKeyring(absent)
	out, err := Run(t.Context(), &Options{App: p.App.App})
	if err != nil || out.Name != "anthropic" || len(out.Keys) != 0 {
		t.Fatalf("Run = %+v, %v\n%s", out, err, p.shown)
	}
	p.wantShown(t, "Keep the key in the private file")
	if shown := strings.Join(strings.Fields(p.shown.String()), " "); !strings.Contains(shown, "Set ANTHROPIC_API_KEY before you start ohgw.") { // where a line ends depends on the directory
		t.Errorf("shown:\n%s", p.shown)
	}
}

func TestAnotherSourceCanBeChosenAfterAFailure(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	p := newPerson(t, "other", "http://127.0.0.1:1/v1", "url", server.URL)
	out, err := Run(t.Context(), &Options{App: p.App.App})
	if err != nil || out.Name != "local" {
		t.Fatalf("Run = %+v, %v\n%s", out, err, p.shown)
	}
	p.wantShown(t, "127.0.0.1:1 refuses connections", "Model: test, the only one there")

	p = newPerson(t, "other", "http://127.0.0.1:1/v1", "llm", "demo")
	if out, err = Run(t.Context(), &Options{App: p.App.App, Chat: true}); err != nil || !out.Demo || out.Name != "" {
		t.Errorf("Run = %+v, %v\n%s", out, err, p.shown)
	}
}

func TestAMistakeInAFlagIsFoundBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*Options{
		"a base URL":    {Name: "x", Model: "openai/x", BaseURL: "localhost:49100"},
		"a provider":    {Name: "x", Provider: "antropic"},
		"a model":       {Name: "x", Model: "nosuchprovider/foo"},
		"a name":        {Name: "a/b"},
		"a variable":    {Name: "x", Model: "openai/x", KeyFrom: "env:NOT_THERE"},
		"nobody there?": {Name: "x"},
	} {
		p := newPerson(t)
		o.App = p.App.App
		if _, err := Run(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error\n%s", name, err, p.shown)
		}
	}
}

package connect_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ohgw/ohgw/internal/connect"
)

var values = connect.Values{BaseURL: "http://127.0.0.1:6449/v1", ContainerURL: "http://host.docker.internal:6449/v1", Model: "openhands", Program: `/opt/ohgw`}

func client(t *testing.T, name string) connect.Client {
	t.Helper()
	c, _, ok := connect.Find(name)
	if !ok {
		t.Fatalf("no client %s", name)
	}
	return c
}

// The names are part of the interface.
func TestEveryClientIsThere(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range connect.Clients() {
		names = append(names, c.Name)
	}
	want := []string{
		"ai-sdk", "aider", "anythingllm", "cline", "codex", "continue", "crush", "curl", "cursor", "goose", "home-assistant", "jetbrains", "jetbrains-agent",
		"langchain", "langchain-js", "librechat", "litellm", "llm", "lobechat", "n8n", "open-webui", "open-webui-pip", "openai-go", "openai-node", "openai-python",
		"opencode", "other", "vscode", "zed", "zed-agent",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsAreWhatTheirFormSays(t *testing.T) {
	t.Parallel()
	for _, c := range connect.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			text := c.Settings(values)
			if err := parses(c.Form, text); err != nil {
				t.Errorf("reading the settings: %v in:\n%s", err, text)
			}
			if strings.HasSuffix(c.Name, "-agent") { // these start ohgw
				if !strings.Contains(text, `"command": "/opt/ohgw"`) {
					t.Error("it does not say where ohgw is")
				}
				text += values.BaseURL + values.Model
			}
			if !strings.Contains(text, strings.TrimSuffix(values.BaseURL, "/v1")) && !strings.Contains(text, values.ContainerURL) {
				t.Error("it does not say where ohgw is")
			}
			if !strings.Contains(text, "openhands") && !strings.HasPrefix(c.Name, "open-webui") { // that one asks for the models
				t.Error("it names no model")
			}
			if all := text + c.Notes(values); regexp.MustCompile(`@[A-Z_]+@`).MatchString(all) {
				t.Errorf("a mark is left in:\n%s", all)
			}
			if c.Source != "" && !strings.HasPrefix(c.Source, "https://") {
				t.Errorf("its source is %q", c.Source)
			}
			if c.Title == "" || c.Notes(values) == "" {
				t.Error("it has no title, or no notes")
			}
		})
	}
}

// parses reports why a text is not of a form. Python and JavaScript are run by
// the end-to-end tests.
func parses(form connect.Form, text string) error {
	switch form {
	case connect.Shell:
		_, err := syntax.NewParser().Parse(strings.NewReader(text), "")
		return err
	case connect.YAML:
		var v any
		return yaml.Unmarshal([]byte(text), &v)
	case connect.JSON:
		var v any
		return json.Unmarshal([]byte(text), &v)
	case connect.TOML:
		var v any
		return toml.Unmarshal([]byte(text), &v)
	case connect.Go:
		_, err := parser.ParseFile(token.NewFileSet(), "main.go", text, parser.AllErrors)
		return err
	case connect.Python, connect.Script, connect.Text:
		return nil
	}
	return errors.New("unknown form " + string(form))
}

// A key is never an argument of a command: every user of a machine sees those.
func TestNoKeyIsAnArgument(t *testing.T) {
	t.Parallel()
	for _, c := range connect.Clients() {
		if c.Form != connect.Shell {
			continue
		}
		tree, err := syntax.NewParser().Parse(strings.NewReader(c.Settings(values)), "")
		if err != nil {
			t.Fatal(err)
		}
		syntax.Walk(tree, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || call.Args[0].Lit() == "printf" { // a builtin has no process
				return true
			}
			for _, arg := range call.Args[1:] {
				syntax.Walk(arg, func(n syntax.Node) bool {
					if p, ok := n.(*syntax.ParamExp); ok && strings.Contains(p.Param.Value, "KEY") {
						t.Errorf("%s: %s gets $%s as an argument", c.Name, call.Args[0].Lit(), p.Param.Value)
					}
					return true
				})
			}
			return true
		})
	}
}

func TestTheNearestNameIsSuggested(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"librchat": "librechat", "webiu": "open-webui", "contineu": "continue", "emacs": "", "": ""} {
		if _, near, ok := connect.Find(name); ok || near != want {
			t.Errorf("%q: found %t, near %q, want %q", name, ok, near, want)
		}
	}
	for alias, want := range map[string]string{"webui": "open-webui", "Vercel": "ai-sdk", "pycharm": "jetbrains", "ZED": "zed"} {
		if c := client(t, alias); c.Name != want {
			t.Errorf("%q is %q, want %q", alias, c.Name, want)
		}
	}
}

func TestPathsFollowTheSystem(t *testing.T) {
	t.Parallel()
	env := func(vars map[string]string) func(string) string { return func(n string) string { return vars[n] } }
	tests := []struct {
		client, goos string
		env          map[string]string
		want         string
	}{
		{"zed", "linux", nil, "/home/.config/zed/settings.json"},
		{"zed", "linux", map[string]string{"XDG_CONFIG_HOME": "/xdg"}, "/xdg/zed/settings.json"},
		{"zed", "darwin", map[string]string{"XDG_CONFIG_HOME": "/xdg"}, "/home/.config/zed/settings.json"},
		{"zed", "windows", map[string]string{"APPDATA": "/roaming"}, "/roaming/Zed/settings.json"},
		{"llm", "darwin", nil, "/home/Library/Application Support/io.datasette.llm/extra-openai-models.yaml"},
		{"llm", "linux", map[string]string{"LLM_USER_PATH": "/llm"}, "/llm/extra-openai-models.yaml"},
		{"continue", "linux", nil, "/home/.continue/config.yaml"},
		{"aider", "linux", nil, "/home/.aider.conf.yml"},
		{"librechat", "linux", nil, ""},
		{"curl", "linux", nil, ""},
	}
	for _, tt := range tests {
		if got := client(t, tt.client).Path(env(tt.env), "/home", tt.goos); filepath.ToSlash(got) != tt.want {
			t.Errorf("%s on %s: %q, want %q", tt.client, tt.goos, got, tt.want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	got := connect.Diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nX\ne\nf\n")
	if want := " b\n c\n d\n+X\n e\n f\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	if got := connect.Diff("", "a\n"); got != "+a\n" {
		t.Errorf("got %q", got)
	}
	if got := connect.Diff("a\na\n", "a\n"); got != " a\n-a\n" {
		t.Errorf("got %q", got)
	}
	if connect.Diff("a", "a") != "" {
		t.Error("no change is no diff")
	}
}

//go:build e2e

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// connecting is a gateway with the demo, and where its clients keep their files.
type connecting struct {
	*gateway

	program, home, python, node string
}

func newConnecting(t *testing.T) connecting {
	t.Helper()
	c := connecting{program: plainProgram(t), home: t.TempDir()}
	c.python = filepath.Dir(need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python")))
	c.node = nodeProgram(t)
	c.gateway = serve(t, c.program, server{URL: "http://127.0.0.1:1"}, "--demo")
	return c
}

// connect runs ohgw connect.
func (c connecting) connect(t *testing.T, args ...string) string {
	t.Helper()
	return c.run(t, "", "", c.program, append([]string{"connect", "--quiet", "--url", c.URL}, args...)...)
}

// run runs a program of a client's user and gives its output.
func (c connecting) run(t *testing.T, dir, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+c.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "OHGW_API_KEY="+gatewayKey, "LLM_USER_PATH="+filepath.Join(c.home, "llm"))
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", cmd, err, out, diagnostics.String())
	}
	return string(out)
}

// TestSettingsOfConnectWork runs what ohgw connect prints, with the real client.
func TestSettingsOfConnectWork(t *testing.T) {
	c := newConnecting(t)
	python := filepath.Join(c.python, "python")
	tests := map[string]func(t *testing.T) string{
		"curl": func(t *testing.T) string {
			var text strings.Builder
			for _, m := range regexp.MustCompile(`"content":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(c.run(t, "", c.connect(t, "curl"), "sh"), -1) {
				var piece string
				if err := json.Unmarshal([]byte(m[1]), &piece); err != nil {
					t.Fatal(err)
				}
				text.WriteString(piece)
			}
			return text.String()
		},
		"openai-python": func(t *testing.T) string { return c.run(t, "", c.connect(t, "openai-python"), python, "-") },
		"langchain":     func(t *testing.T) string { return c.run(t, "", c.connect(t, "langchain"), python, "-") },
		"openai-node": func(t *testing.T) string {
			return c.run(t, "node", c.connect(t, "openai-node"), c.node, "--input-type=module", "-")
		},
		"langchain-js": func(t *testing.T) string {
			return c.run(t, "node", c.connect(t, "langchain-js"), c.node, "--input-type=module", "-")
		},
		"ai-sdk": func(t *testing.T) string {
			return c.run(t, "node", c.connect(t, "ai-sdk"), c.node, "--input-type=module", "-")
		},
		"openai-go": func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(c.connect(t, "openai-go")), 0o600); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(filepath.Dir(file), "program")
			build := exec.CommandContext(t.Context(), "go", "build", "-o", program, file) // in the module that has the library
			build.Dir = "go"
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			return c.run(t, "", "", program)
		},
		"litellm": func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "config.yaml")
			c.connect(t, "litellm", "--write", "--file", file)
			return c.run(t, "python", "", python, "router.py", file)
		},
		"llm": func(t *testing.T) string {
			c.connect(t, "llm", "--write")
			keys, err := json.Marshal(map[string]string{"ohgw": gatewayKey})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(c.home, "llm", "keys.json"), keys, 0o600); err != nil {
				t.Fatal(err)
			}
			return c.run(t, "", "", filepath.Join(c.python, "llm"), "-m", "openhands", "Which version of git is installed?")
		},
	}
	for name, ask := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t); !strings.Contains(got, "Which version of git is installed?") || !strings.Contains(got, "demo") {
				t.Errorf("no answer of the demo:\n%s", got)
			}
		})
	}
}

// TestSettingsOfConnectAreRead gives what ohgw connect prints to the parsers of
// clients that cannot be started here.
func TestSettingsOfConnectAreRead(t *testing.T) {
	node := nodeProgram(t)
	c := connecting{gateway: &gateway{URL: "http://127.0.0.1:6449"}, program: plainProgram(t), home: t.TempDir()}
	for name, want := range map[string]map[string]any{
		"librechat": {"name": "OpenHands", "baseURL": "http://host.docker.internal:6449/v1", "apiKey": "${OHGW_API_KEY}"},
		"continue":  {"name": "OpenHands", "apiBase": "http://127.0.0.1:6449/v1", "provider": "openai", "model": "openhands"},
	} {
		t.Run(name, func(t *testing.T) {
			out := c.run(t, "node", c.connect(t, name), node, "settings.mjs", name)
			var entries []map[string]any
			if err := json.Unmarshal([]byte(out), &entries); err != nil || len(entries) != 1 {
				t.Fatalf("reading the output as JSON: %v: %s", err, out)
			}
			for key, value := range want {
				if entries[0][key] != value {
					t.Errorf("%s is %v, want %v", key, entries[0][key], value)
				}
			}
		})
	}
}

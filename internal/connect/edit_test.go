package connect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/connect"
)

// TestAddAndRemove adds to files as people have them, twice, and removes again.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client string
		old    string
		has    []string // lines of the new file
		room   bool     // what was made for the entry stays when it is removed
	}{
		"no file":                {"continue", "", []string{"models:", "  - name: OpenHands"}, false},
		"only comments":          {"continue", "# mine\n", []string{"# mine", "models:"}, false},
		"a list":                 {"continue", "name: x\nmodels:\n  - name: Other\n    provider: ollama # local\n\n# rules\nrules:\n  - be kind\n", []string{"  - name: Other", "  - name: OpenHands", "    roles: [chat]"}, false},
		"a list at the margin":   {"continue", "models:\n- name: Other\n  model: x\nname: x\n", []string{"- name: OpenHands", "  provider: openai"}, false},
		"a deeper list":          {"continue", "models:\n      - name: Other\n", []string{"      - name: OpenHands"}, false},
		"no list":                {"continue", "name: x\nversion: 1.0.0\n", []string{"models:", "  - name: OpenHands"}, false},
		"an empty list":          {"continue", "models: [] # none\nname: x\n", nil, true},
		"an empty list, alone":   {"continue", "models: []\n", []string{"models:", "  - name: OpenHands"}, true},
		"no line end":            {"continue", "models:\n  - name: Other", []string{"  - name: OpenHands"}, true},
		"nested":                 {"librechat", "version: 1.2.1\ncache: true\nendpoints:\n  agents:\n    disableBuilder: true\n  custom:\n    - name: groq\n      apiKey: x\n  openAI:\n    titleConvo: true\nregistration:\n  socialLogins: [github]\n", []string{"    - name: groq", "    - name: OpenHands", "      dropParams: [user]"}, false},
		"nested, half there":     {"librechat", "endpoints:\n  agents:\n    x: 1\n\n\nother: 1\n", []string{"  custom:", "    - name: OpenHands"}, false},
		"nested, not there":      {"librechat", "version: 1.2.1\n", []string{"endpoints:", "  custom:", "    - name: OpenHands"}, false},
		"a list of its own":      {"llm", "- model_id: x\n  model_name: x\n", []string{"- model_id: openhands"}, false},
		"members":                {"aider", "# aider\ndark-mode: true\n", []string{"openai-api-base: http://127.0.0.1:6449/v1"}, false},
		"a list with params":     {"litellm", "model_list:\n  - model_name: x\n    litellm_params:\n      model: y\ngeneral_settings: {}\n", []string{"  - model_name: openhands"}, false},
		"zed, no file":           {"zed", "", []string{`      "ohgw": {`}, true},
		"zed, empty":             {"zed", "{}\n", []string{`      "ohgw": {`}, true},
		"zed, only comments":     {"zed", "// Zed settings\n{\n}\n", []string{`// Zed settings`, `      "ohgw": {`}, true},
		"zed, others":            {"zed", "// Zed\n{\n  \"theme\": \"One // Dark\", // dark\n  \"vim_mode\": true,\n}\n", []string{`  "vim_mode": true,`, `      "ohgw": {`}, true},
		"zed, no trailing comma": {"zed", "{\n    \"a\": [1, {\"b\": null}]\n}\n", []string{`    "language_models": {`}, true},
		"zed, other providers":   {"zed", "{\n  \"language_models\": {\n    \"openai_compatible\": {\n      /* mine */\n      \"other\": {\"api_url\": \"http://x\"}\n    }\n  }\n}\n", []string{`      "ohgw": {`, `        "api_url": "http://127.0.0.1:6449/v1",`}, false},
		"zed, other, comma":      {"zed", "{\n  \"language_models\": {\n    \"openai_compatible\": {\n      \"other\": {\"api_url\": \"http://x\"},\n    },\n  },\n}\n", []string{`      "ohgw": {`}, false},

		"zed-agent, others":      {"zed-agent", "// Zed\n{\n  \"agent_servers\": {\n    \"other\": {\"type\": \"custom\", \"command\": \"x\"}\n  }\n}\n", []string{`    "ohgw": {`, `      "command": "/opt/ohgw",`}, false},
		"strict JSON, no file":   {"jetbrains-agent", "", []string{`    "OpenHands": {`}, true},
		"strict JSON, others":    {"jetbrains-agent", "{\n  \"agent_servers\": {\n    \"Junie\": {\"command\": \"junie\"}\n  }\n}\n", []string{`    "OpenHands": {`, `      "command": "/opt/ohgw",`}, false},
		"strict JSON, elsewhere": {"crush", "{\n  \"options\": {\n    \"debug\": true\n  },\n  \"providers\": {\n    \"x\": {}\n  }\n}\n", []string{`    "ohgw": {`}, false},
		"a file of its own":      {"codex", "", []string{`wire_api = "responses"`}, false},
		"its own, in JSON":       {"goose", "", []string{`  "engine": "openai",`}, false},
		"opencode, others":       {"opencode", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"provider\": {\n    \"x\": {}\n  }\n}\n", []string{`    "ohgw": {`}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, tt.client)
			added, err := c.Add(tt.old, values)
			if tt.has == nil {
				if !errors.Is(err, connect.ErrForm) {
					t.Errorf("Add: %v\n%s", err, added)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range tt.has {
				if !strings.Contains("\n"+added, "\n"+line) {
					t.Errorf("no line %q in\n%s", line, added)
				}
			}
			again, err := c.Add(added, values)
			if err != nil || again != added {
				t.Errorf("the second time it is another file: %v\n%s", err, cmp.Diff(added, again))
			}
			moved, err := c.Add(added, connect.Values{BaseURL: "http://127.0.0.1:1/v1", ContainerURL: "http://127.0.0.1:1/v1", Model: "openhands", Program: "/usr/bin/ohgw"})
			if err != nil || strings.Contains(moved, "6449") || strings.Contains(moved, "/opt/ohgw") {
				t.Errorf("a new address did not take the place of the old one: %v\n%s", err, moved)
			}
			removed, err := c.Remove(added)
			if err != nil || strings.Contains(removed, "6449") || strings.Contains(removed, "/opt/ohgw") {
				t.Errorf("not removed: %v\n%s", err, removed)
			}
			if !tt.room && removed != tt.old {
				t.Errorf("it is not as it was:\n%s", cmp.Diff(tt.old, removed))
			}
		})
	}
}

func TestWhatIsNotOursStays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client, old string
		want        error
	}{
		"written by hand":     {"continue", "models:\n  - name: OpenHands\n    provider: openai\n", connect.ErrTaken},
		"a default model":     {"aider", "model: sonnet\n", connect.ErrTaken},
		"a file of its own":   {"codex", "model = \"x\"\n", connect.ErrTaken},
		"its own, one more":   {"goose", `{"name": "ohgw", "engine": "openai"}`, connect.ErrTaken},
		"strict, by hand":     {"jetbrains-agent", `{"agent_servers": {"OpenHands": {"command": "openhands", "args": ["acp"]}}}`, connect.ErrTaken},
		"zed, by hand":        {"zed", `{"language_models": {"openai_compatible": {"ohgw": {}}}}`, connect.ErrTaken},
		"flow style":          {"continue", "models: [{name: Other}]\n", connect.ErrForm},
		"an anchor":           {"continue", "models: &m\n  - name: Other\n", connect.ErrForm},
		"not a list":          {"continue", "models:\n  other: 1\n", connect.ErrForm},
		"broken":              {"continue", "models:\n\t- name: [\n", connect.ErrForm},
		"zed, broken":         {"zed", `{"a": `, connect.ErrForm},
		"zed, not an object":  {"zed", `[1]`, connect.ErrForm},
		"zed, another form":   {"zed", `{"language_models": []}`, connect.ErrForm},
		"half of our comment": {"continue", "# <<< ohgw connect\nmodels:\n", connect.ErrForm},
		"two documents":       {"continue", "a: 1\n---\nmodels:\n  - name: x\n", connect.ErrForm},
	}
	for name, tt := range tests {
		if got, err := client(t, tt.client).Add(tt.old, values); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v\n%s", name, err, tt.want, got)
		}
	}
}

// Programs write settings again, and put what is added before our last comment.
func TestRemoveTakesOurEntryOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ client, old, what, with string }{
		"an entry before our end":     {"continue", "models:\n  - name: Other\n", "  # <<<", "  - name: New\n    model: x\n  # <<<"},
		"one in a file of ours":       {"continue", "", "# <<<", "  - name: New\n    model: x\n# <<<"},
		"a key before our end":        {"aider", "dark-mode: true\n", "# <<<", "auto-commits: false\n# <<<"},
		"a key after our list":        {"litellm", "", "# <<<", "general_settings: {}\n# <<<"},
		"a member on our line":        {"zed", "{\n  // mine\n  \"language_models\": {\n    \"openai_compatible\": { // mine\n      \"x\": {} // mine\n    }\n  }\n}\n", "\n    }\n  }\n}", ", \"new\": {}\n    }\n  }\n}"},
		"a comma that is not there":   {"zed", "{\n  \"language_models\": {\n    \"openai_compatible\": {\n      \"x\": {}\n    }\n  }\n}\n", "{},", "{}"},
		"an end that is not ours now": {"continue", "models:\n  - name: Other\n", "  # <<< ohgw connect", "  - name: New\nrules:\n  # <<< ohgw connect"},
	}
	for name, tt := range tests {
		c := client(t, tt.client)
		added, err := c.Add(tt.old, values)
		if err != nil {
			t.Fatal(name, err)
		}
		changed := strings.Replace(added, tt.what, tt.with, 1)
		if changed == added {
			t.Fatalf("%s: the test changes nothing in\n%s", name, added)
		}
		if got, err := c.Remove(changed); !errors.Is(err, connect.ErrForm) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if got, err := c.Add(changed, values); !errors.Is(err, connect.ErrForm) {
			t.Errorf("%s: added again: %v\n%s", name, err, got)
		}
	}
}

func TestLineEndsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]string{
		"continue": "name: x\r\nmodels:\r\n  - name: Other\r\n    model: y\r\nrules:\r\n  - one\r\n",
		"aider":    "# mine\r\ndark-mode: true\r\n",
		"zed":      "{\r\n  \"language_models\": {\r\n    \"openai_compatible\": {\r\n      \"x\": {}\r\n    }\r\n  }\r\n}\r\n",
	} {
		c := client(t, name)
		added, err := c.Add(old, values)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(added, "\n"); n != strings.Count(added, "\r\n") || n != strings.Count(added, "\r") {
			t.Errorf("%s: mixed line ends: %q", name, added)
		}
		if again, err := c.Add(added, values); err != nil || again != added {
			t.Errorf("%s: the second time it is another file: %v\n%q", name, err, again)
		}
		if removed, err := c.Remove(added); err != nil || removed != old {
			t.Errorf("%s: it is not as it was: %v\n%q", name, err, removed)
		}
	}
}

func TestACommentStaysOnItsLine(t *testing.T) {
	t.Parallel()
	for _, comma := range []string{"", ","} {
		old := "{\n  \"language_models\": {\n    \"openai_compatible\": {\n      \"x\": {}" + comma + " // mine\n    }\n  }\n}\n"
		c := client(t, "zed")
		added, err := c.Add(old, values)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(added, "\"x\": {}, // mine\n") {
			t.Errorf("the comment is elsewhere:\n%s", added)
		}
		if removed, err := c.Remove(added); err != nil || removed != old {
			t.Errorf("it is not as it was: %v\n%s", err, cmp.Diff(old, removed))
		}
	}
}

// Whatever the file, it is left alone or gets our entry and nothing else; it
// never ends in a panic.
func FuzzAdd(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "models:\n  - name: x\n", "models: []\n", "a: |\n  models:\n", "- a\n", "// c\n{\"a\": [1,], /* x */ \"b\": \"//\",}\n", "{\"language_models\":{\"openai_compatible\":{}}}", "\"", "{\"\\", "---\n", "\r\nmodels:\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, old string) {
		for _, name := range []string{"continue", "librechat", "llm", "aider", "zed"} {
			c, _, _ := connect.Find(name)
			added, err := c.Add(old, values)
			if err != nil {
				continue
			}
			if again, err := c.Add(added, values); err != nil || again != added {
				t.Errorf("%s: the second time: %v\n%q\n%q", name, err, added, again)
			}
		}
	})
}

// Files as they could be, made of parts.
func TestAddKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"# a comment\n", "\n", "name: x\n", "rules:\n  - one\n  - two\n", "deep:\n  models:\n    - no\n", "text: |\n  models:\n   - no\n", "models:\n  - name: Other\n    model: y\n",
			"models:\n\n  # mine\n- name: z\n",
		}), 0, 6).Draw(t, "parts")
		old := strings.Join(parts, "")
		c, _, _ := connect.Find("continue")
		added, err := c.Add(old, values)
		if err != nil {
			return // it said that it does not
		}
		removed, err := c.Remove(added)
		if err != nil || removed != old {
			t.Fatalf("Remove: %v\n%s", err, cmp.Diff(old, removed))
		}
	})
}

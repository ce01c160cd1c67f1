package repocheck_test

import (
	"strconv"
	"strings"
	"testing"
)

// rule forbids imports. The same rules, for the editor, are in .golangci.yml.
type rule struct {
	why  string
	in   []string // trees that the rule is for; none: everywhere
	not  []string // trees that it is not for
	test bool     // tests are bound too
	deny []string // import paths and what is below them; see denied
}

// commands are the packages of commands. What they share is in cli/kit.
var commands = []string{
	"cli/acp", "cli/agents", "cli/chat", "cli/config", "cli/connect", "cli/doctor", "cli/keys", "cli/overview", "cli/profiles", "cli/sandbox", "cli/serve", "cli/server", "cli/service", "cli/status", "cli/tokens",
}

var rules = []rule{
	{
		why: "commands do not know each other; they meet in cli, and share cli/kit",
		in:  commands, test: true, deny: below(commands),
	},
	{
		why: "the network of an agent-server is behind its backend",
		in:  []string{"cli"}, deny: []string{"./agentapi/agentserver"},
	},
	{
		why: "events and OpenAI's wire are understood without anything else",
		in:  []string{"agentapi/event", "daemon/openai", "internal/sse"}, deny: []string{"!std"},
	},
	{
		why: "the seam knows neither its users nor its backends",
		in:  []string{"agentapi"}, not: []string{"agentapi/agentserver", "agentapi/cloud", "agentapi/engine", "agentapi/backendtest"}, test: true,
		deny: []string{"./agentapi/agentserver", "./agentapi/cloud", "./agentapi/engine"},
	},
	{
		why:  "arrows point down: below tui and cli nobody knows them",
		in:   []string{"agentapi", "internal"},
		deny: []string{"./cli", "./tui"},
	},
	{
		why:  "arrows point down: the seam and its backends do not know the daemon",
		in:   []string{"agentapi"},
		deny: []string{"./daemon"},
	},
	{
		why: "the gateway sees an agent as agentapi.Backend only",
		in:  []string{"daemon"},
		deny: []string{
			"./cli", "./tui", "./agentapi/agentserver", "./agentapi/cloud", "./agentapi/engine",
			"./internal/config", "./internal/profile", "./internal/secret",
		},
	},
	{
		why:  "the chat is a client of /v1 behind a small interface",
		in:   []string{"tui"},
		deny: []string{"./cli", "./daemon", "./agentapi", "net/http"},
	},
	{
		why: "what is assembled does not know who assembles it",
		not: []string{"cli", "internal/setup", "tools", "e2e"}, deny: []string{"./internal/setup"},
	},
	{
		why:  "the daemon, the chat and the backends meet in internal/setup and cli",
		in:   []string{"internal"},
		not:  []string{"internal/setup"},
		deny: []string{"./daemon"},
	},
	{
		why:  "backends do not know each other; they meet in internal/setup",
		in:   []string{"agentapi/agentserver"},
		deny: []string{"./agentapi/cloud", "./agentapi/engine"},
	},
	{
		why:  "backends do not know each other; they meet in internal/setup",
		in:   []string{"agentapi/cloud"},
		deny: []string{"./agentapi/agentserver", "./agentapi/engine"},
	},
	{
		why:  "backends do not know each other; they meet in internal/setup",
		in:   []string{"agentapi/engine"},
		deny: []string{"./agentapi/agentserver", "./agentapi/cloud"},
	},
	{
		why: "the agent's programs start in a sandbox.Box, and the engine knows the seam of the sandbox only",
		in:  []string{"agentapi/engine"},
		deny: []string{
			"os/exec", "./internal/sandbox/addresses", "./internal/sandbox/boxes", "./internal/sandbox/boxfiles", "./internal/sandbox/gitguard",
			"./internal/sandbox/inside", "./internal/sandbox/netgate", "./internal/sandbox/netpolicy", "./internal/sandbox/policy",
			"./internal/sandbox/probe", "./internal/sandbox/seatbelt", "./internal/sandbox/seccomp",
		},
	},
	{
		why: "only cli is the program; cmd only starts it",
		not: []string{"cmd", "cli", "tools/gen", "e2e/soak/program"}, deny: []string{"./cli", "github.com/spf13"},
	},
	{
		why: "the terminal's look belongs to tui",
		not: []string{"tui"}, deny: []string{"charm.land", "github.com/charmbracelet"},
	},
	{
		why: "the user's directories come in through cli.Env", test: true,
		not: []string{"cli"}, deny: []string{"github.com/adrg/xdg"},
	},
	{
		why: "keys are read and written in one place",
		not: []string{"internal/secret"}, deny: []string{"github.com/zalando/go-keyring"},
	},
	{
		why: "sockets belong to the backend that has them, to its fake, and to who passes its API on",
		not: []string{"agentapi/agentserver", "agentapi/backendtest", "daemon/native/through", "daemon/native/socket", "daemon/native/live", "daemon/native/shell"}, deny: []string{"github.com/coder/websocket"},
	},
	{
		why:  "what is for tests stays in tests, and in packages named for them",
		deny: []string{"./...test", "testing", "github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/prometheus"},
	},
	{
		why: "other people's clients stay out of our graph",
		not: []string{"e2e"}, test: true, deny: []string{"github.com/openai", "github.com/sashabaranov"},
	},
	{
		why: "one logger, passed explicitly", test: true, deny: []string{"log$"},
	},
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, r := range rules {
			if s.forTests() && !r.test || len(r.in) > 0 && !within(s.dir, r.in...) || within(s.dir, r.not...) {
				continue
			}
			for _, spec := range s.tree.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if denied(r.deny, imported) && !within(module+"/"+s.dir, imported) {
					t.Errorf("%s:%d: imports %s: %s", s.name, s.line(spec.Pos()), imported, r.why)
				}
			}
		}
	}
}

// below are trees of this module as entries of a rule.
func below(trees []string) []string {
	entries := make([]string, 0, len(trees))
	for _, t := range trees {
		entries = append(entries, "./"+t)
	}
	return entries
}

// denied reports whether an import is in the list of a rule. "./x" is a tree of
// this module, "./...test" all its packages for tests, "x$" that package alone,
// and "!std" all that is not in the standard library.
func denied(list []string, imported string) bool {
	for _, entry := range list {
		exact, isExact := strings.CutSuffix(entry, "$")
		local, isLocal := strings.CutPrefix(entry, "./")
		first, _, _ := strings.Cut(imported, "/")
		switch {
		case isExact && imported == exact,
			isLocal && within(imported, module+"/"+local),
			entry == "./...test" && within(imported, module) && isTestTree(imported),
			entry == "!std" && strings.Contains(first, "."),
			within(imported, entry):
			return true
		}
	}
	return false
}

func TestDeniedKnowsEveryFormOfAnEntry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		entry, imported string
		want            bool
	}{
		{"./cli", module + "/cli", true},
		{"./cli", module + "/cli/clitest", true},
		{"./cli", module + "/client", false},
		{"!std", "encoding/json", false},
		{"!std", module + "/agentapi", true},
		{"./...test", module + "/internal/testkit/llmtest", true},
		{"./...test", "net/http/httptest", false},
		{"log$", "log", true},
		{"log$", "log/slog", false},
		{"charm.land", "charm.land/bubbletea/v2", true},
	}
	for _, tt := range tests {
		if got := denied([]string{tt.entry}, tt.imported); got != tt.want {
			t.Errorf("denied(%q, %q) = %t, want %t", tt.entry, tt.imported, got, tt.want)
		}
	}
}

package repocheck_test

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule forbids imports. It is for all files of its trees that are not tests, whatever
// their build constraints are, packages for tests such as agentapi/backendtest included.
type rule struct {
	name  string
	why   string
	in    []string // trees that the rule is for; none: everywhere
	not   []string // trees that it is not for
	tests bool     // it is for *_test.go as well
	deny  []string // what the trees may not import; see denied
	allow []string // what the trees may import although deny has it
	apart []string // instead of in: none of these trees imports another one of them
}

// backends are the packages behind the seam. A new one belongs here.
var backends = []string{"agentapi/agentserver", "agentapi/cloud", "agentapi/engine", "agentapi/pool"}

// fakes are the packages of the daemon that stand for its backends in tests.
var fakes = []string{"daemon/daemontest"}

// testOnly are the packages that the program does not import.
var testOnly = []string{
	"./...test", "testing", "github.com/google/go-cmp", "github.com/prometheus", "go.uber.org/goleak", "pgregory.net/rapid",
}

// rules are all rules about imports; the linter has none. The picture that they keep
// true is in docs/architecture.md.
func rules(t *testing.T) []rule {
	t.Helper()
	return []rule{
		// Imports point down.
		{
			name: "standard library only", why: "events and the wire of OpenAI are understood without anything else",
			in: []string{"agentapi/event", "daemon/openai", "internal/picture", "internal/plainjson", "internal/shellword", "internal/sse"}, deny: []string{"!std"},
			allow: below("internal/picture", "internal/plainjson", "internal/shellword"), // have the standard library only, too
		},
		{
			name: "seam", why: "the seam does not know its backends",
			in: []string{"agentapi"}, not: append([]string{"agentapi/backendtest"}, backends...), tests: true, deny: below(backends...),
		},
		{
			name: "leaves", why: "imports point down: these are below the daemon, the chat and the commands",
			in: []string{"agentapi", "internal"}, not: []string{"internal/state"}, deny: below("cli", "daemon", "tui"),
		},
		{
			name: "shared", why: "what is shared is below all others, the agents included",
			in: []string{"internal"}, not: []string{"internal/...test", "internal/state"}, deny: below("agentapi"),
		},
		{
			name: "shared state", why: "what gateways share knows the interfaces that it implements, and nothing else of the daemon and the backends",
			in: []string{"internal/state"}, deny: append(below("cli", "daemon", "tui"), below(backends...)...), allow: below("daemon/run/ledger", "daemon/chats", "agentapi/pool/placement"),
		},
		{
			name: "assembled", why: "what is assembled does not know what assembles it",
			not: []string{"cli", "setup", "tools", "e2e"}, deny: below("setup"),
		},
		{
			name: "setup", why: "package setup is below the commands, and prints nothing: notes go to setup.Notes",
			in: []string{"setup"}, tests: true, deny: below("cli", "tui", "internal/iostream"),
		},
		{
			name: "parts of a backend", why: "what a backend is made of does not know how it is chosen",
			in: []string{"setup/catalogue", "setup/accounts", "setup/directllm", "setup/openhandsapi", "setup/agentmodels", "setup/sandboxes"}, deny: below("setup/agents", "setup/library"),
		},
		{
			name: "parts of OpenHands' API", why: "setup/openhandsapi joins what agents can be given to the engine, and setup/catalogue is handed what it needs",
			in: []string{"setup/catalogue", "setup/directllm", "setup/sandboxes"}, deny: below("setup/openhandsapi"),
		},
		{
			name: "daemon", why: "the daemon knows neither the commands nor the chat, which is its client",
			in: []string{"daemon"}, deny: below("cli", "tui"),
		},
		{
			name: "daemon and backends", why: "the gateway sees an agent as agentapi.Backend only",
			in: []string{"daemon"}, deny: below(backends...),
		},
		{
			name: "gate", why: "what all APIs of the daemon share is below each of them",
			in: []string{"daemon/gate"}, deny: below("daemon/completions", "daemon/responses", "daemon/conversations", "daemon/openhandsapi", "daemon/chats"),
		},
		{
			name: "completions", why: "a response is made as a chat completion is, not the other way round",
			in: []string{"daemon/completions"}, deny: below("daemon/responses", "daemon/conversations", "daemon/openhandsapi"),
		},
		{
			name: "daemon and settings", why: "settings reach the daemon as a Config; profiles and LLM keys belong to the backend",
			in: []string{"daemon"}, deny: append(below("internal/config", "internal/profile", "internal/secret"), "./internal/openhands/*"), // whose values are in its root
			allow: below("internal/openhands/pydantic"), // reads any JSON and knows no setting
		},
		{
			name: "tui", why: "the chat is a client of /v1, behind a small interface",
			in: []string{"tui"}, deny: append(below("cli", "daemon", "agentapi"), "net/http"),
		},
		{
			name: "program", why: "only cli is the program; cmd only starts it",
			not: []string{"cmd", "cli", "tools/gen", "e2e/soak/program"}, deny: below("cli"),
		},

		// What is side by side does not know each other.
		{
			name: "commands", why: "commands meet in cli, and share cli/kit and cli/guide",
			apart: commandPackages(t), tests: true,
		},
		{
			name: "commands and agent-servers", why: "the network of an agent-server is behind its backend",
			in: []string{"cli"}, deny: below("agentapi/agentserver"),
		},
		{
			name: "commands and the gateway", why: "a command asks a gateway over HTTP or through setup; those left out read its JSON and its refusals, and all know the names of models",
			in: []string{"cli"}, not: []string{"cli/pool", "cli/ps", "cli/serve", "cli/status", "cli/stop"}, deny: below("daemon"), allow: below("daemon/openai"),
		},
		{
			name: "commands and the engine", why: "setup opens the engine; those left out check the files of agents and profiles as it does",
			in: []string{"cli"}, not: []string{"cli/agents", "cli/profiles"}, deny: below("agentapi/engine"),
		},
		{
			name: "commands and the Cloud", why: "a command asks a gateway; those left out work with a server of OpenHands itself",
			in: []string{"cli"}, not: []string{"cli/cloud", "cli/conversations", "cli/kit", "cli/server"}, deny: below("agentapi/cloud"),
		},
		{
			name: "commands and the pool", why: "cli/pool reads and changes the notes of the pool",
			in: []string{"cli"}, not: []string{"cli/pool"}, deny: below("agentapi/pool"),
		},
		{
			name: "commands and the sandbox", why: "setup makes the boxes; cli/sandbox shows and tries them, and the others know their words",
			in: []string{"cli"}, not: []string{"cli/sandbox"}, deny: []string{"./internal/sandbox/*"}, allow: below("internal/sandbox/policy"),
		},
		{
			name: "backends", why: "backends meet in setup",
			apart: backends,
		},
		{
			name: "tests of backends", why: "backends meet in setup; only tests of the Cloud put an agent-server behind it",
			in: []string{"agentapi/agentserver", "agentapi/engine"}, apart: []string{"agentapi/agentserver", "agentapi/engine"}, tests: true, deny: below("agentapi/cloud"),
		},
		{
			name: "parts of the engine", why: "the engine joins its parts: a session gets other conversations from an Opener, and a library opens none",
			apart: []string{"agentapi/engine/delegation", "agentapi/engine/library", "agentapi/engine/session"},
		},

		// One place for each concern.
		{
			name: "programs of the engine", why: "the agent's programs start in a sandbox.Box; the engine knows the seam of the sandbox only",
			in: []string{"agentapi/engine"}, deny: []string{"os/exec", "./internal/sandbox/*"},
		},
		{
			name: "browser", why: "Chromium is behind the interface of agentapi/engine/tool/browser; only setup joins them",
			not: []string{"agentapi/engine/browser", "setup/browsers", "setup/agents"}, deny: below("agentapi/engine/browser"),
		},
		{
			name: "command line", why: "the command line belongs to cli; tools/gen writes its manual pages",
			not: []string{"cli", "tools/gen"}, tests: true, deny: []string{"github.com/spf13"},
		},
		{
			name: "terminal", why: "the look of the terminal belongs to tui; its libraries are at charm.land",
			not: []string{"tui"}, tests: true, deny: []string{"charm.land", "github.com/charmbracelet"},
		},
		{
			name: "directories", why: "this library reads the environment; directories come in through cli.Env",
			not: []string{"cli"}, tests: true, deny: []string{"github.com/adrg/xdg"},
		},
		{
			name: "keyring", why: "keys are read and written in internal/secret",
			not: []string{"internal/secret"}, tests: true, deny: []string{"github.com/zalando/go-keyring"},
		},
		{
			name: "postgres", why: "databases belong to the shared state",
			not: []string{"internal/state", "internal/testkit/pgtest"}, tests: true, deny: []string{"github.com/jackc"},
		},
		{
			name: "websocket", why: "sockets belong to the backend that has them, to its fake, and to what serves or passes on the API of OpenHands",
			not: []string{
				"agentapi/agentserver", "agentapi/backendtest",
				"daemon/openhandsapi/live", "daemon/openhandsapi/shell", "daemon/openhandsapi/socket", "daemon/openhandsapi/through",
			},
			deny: []string{"github.com/coder/websocket"},
		},
		{
			name: "logger", why: "there is one logger, log/slog, and it is passed in",
			tests: true, deny: []string{"log$"},
		},

		// What stays out.
		{
			name: "test only", why: "this is for tests, and for packages whose name ends in test",
			not:  append([]string{"agentapi/...test", "internal/...test", "setup/...test", "cli/clitest", "daemon/apitest", "daemon/chats/chatstest", "daemon/run/ledger/ledgertest"}, fakes...),
			deny: testOnly,
		},
		{
			name: "fakes of the daemon", why: "a fake of conversations needs no test, and may share its stream with another",
			in: fakes, deny: testOnly, allow: below("internal/testkit/streamtest"),
		},
		{
			name: "replaced", why: "use io and os, math/rand/v2, errors and fmt, and in tests go-cmp and plain Go",
			tests: true, deny: []string{"io/ioutil", "math/rand$", "github.com/pkg/errors", "github.com/stretchr/testify"},
		},
		{
			name: "templates", why: "templates call methods by name, so that the linker keeps all methods: an eighth of the program",
			not: []string{"tools", "e2e"}, deny: []string{"text/template", "html/template"},
		},
		{
			name: "clients of others", why: "clients of OpenAI's API stay out of the module graph of the program",
			not: []string{"e2e"}, tests: true, deny: []string{"github.com/openai", "github.com/sashabaranov"},
		},
	}
}

// commandPackages are the packages of commands: those below cli, but for what they share.
func commandPackages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for dir := range packages(t) {
		if path.Dir(dir) == "cli" && !slices.Contains([]string{"cli/clitest", "cli/guide", "cli/kit"}, dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	if len(dirs) < 10 {
		t.Fatalf("there are only %d commands below cli: %q", len(dirs), dirs)
	}
	return dirs
}

func TestImportsFollowTheRules(t *testing.T) {
	t.Parallel()
	all := rules(t)
	for _, s := range sources(t) {
		for _, b := range breaches(s, all) {
			t.Error(b)
		}
	}
}

// breaches are the imports of a file that a rule forbids.
func breaches(s source, all []rule) []string {
	var found []string
	for _, spec := range s.tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has read it
		}
		for _, r := range all {
			if r.forbids(s, imported) {
				found = append(found, s.name+":"+strconv.Itoa(s.line(spec.Pos()))+": imports "+imported+" ("+r.name+"): "+r.why)
			}
		}
	}
	return found
}

// forbids reports whether a rule forbids an import of a file. The tests of a package
// import the package itself.
func (r rule) forbids(s source, imported string) bool {
	if s.test && !r.tests || imported == module+"/"+s.dir {
		return false
	}
	for _, tree := range r.apart {
		others := slices.DeleteFunc(slices.Clone(r.apart), func(other string) bool { return other == tree })
		if within(s.dir, tree) && denied(below(others...), imported) {
			return true
		}
	}
	if r.deny == nil || len(r.in) > 0 && !inTrees(s.dir, r.in) {
		return false
	}
	return !inTrees(s.dir, r.not) && denied(r.deny, imported) && !denied(r.allow, imported)
}

// inTrees reports whether a package is in one of the trees of a rule. "x" is x and all
// below it, and "x/...test" the packages for tests there.
func inTrees(dir string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		top, tests := strings.CutSuffix(tree, "/...test")
		return within(dir, top) && (!tests || isTestTree(dir))
	})
}

// below are trees of this module as entries of a rule.
func below(trees ...string) []string {
	entries := make([]string, 0, len(trees))
	for _, t := range trees {
		entries = append(entries, "./"+t)
	}
	return entries
}

// denied reports whether an import is in the list of a rule. "x" is a package and all
// below it, "x$" that package alone, "./x" a tree of this module, "./x/*" the tree
// without x itself, "./...test" all packages for tests of this module, and "!std" all
// that is not in the standard library.
func denied(list []string, imported string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if entry == "!std" {
			first, _, _ := strings.Cut(imported, "/")
			return strings.Contains(first, ".")
		}
		if entry == "./...test" {
			return within(imported, module) && isTestTree(imported)
		}
		if local, ok := strings.CutPrefix(entry, "./"); ok {
			entry = module + "/" + local
		}
		if exact, ok := strings.CutSuffix(entry, "$"); ok {
			return imported == exact
		}
		if top, ok := strings.CutSuffix(entry, "/*"); ok {
			return strings.HasPrefix(imported, top+"/")
		}
		return within(imported, entry)
	})
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
		{"./cli/*", module + "/cli", false},
		{"./cli/*", module + "/cli/kit", true},
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

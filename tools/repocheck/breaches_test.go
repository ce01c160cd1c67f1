package repocheck_test

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// made is a file that is not there, with one import.
func made(t *testing.T, name, constraint, imported string) source {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, constraint+"package p\n\nimport \""+imported+"\"\n", parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, tree: tree}
}

// forbidden has, for each rule and each entry of its list, a file that breaks it. "./x"
// is a package of this module.
var forbidden = []struct{ rule, file, imported string }{
	{"standard library only", "agentapi/event/x.go", "github.com/BurntSushi/toml"},
	{"standard library only", "daemon/openai/x.go", "./internal/id"},
	{"standard library only", "internal/sse/x.go", "./internal/id"},

	{"seam", "agentapi/x.go", "./agentapi/agentserver"},
	{"seam", "agentapi/x.go", "./agentapi/pool"},
	{"seam", "agentapi/turn/x.go", "./agentapi/cloud/account"},
	{"seam", "agentapi/turn/x_test.go", "./agentapi/engine/llm"},
	{"seam", "agentapi/control/x.go", "./agentapi/engine"},

	{"leaves", "internal/gateway/x.go", "./cli/kit"},
	{"leaves", "agentapi/turn/x.go", "./daemon"},
	{"leaves", "internal/config/x.go", "./daemon/run"},
	{"leaves", "agentapi/engine/x.go", "./tui/safe"},
	{"leaves", "agentapi/backendtest/x.go", "./daemon"},

	{"shared", "internal/profile/x.go", "./agentapi"},
	{"shared", "internal/sandbox/x.go", "./agentapi/engine/llm"},

	{"shared state", "internal/state/pg/x.go", "./cli/kit"},
	{"shared state", "internal/state/pg/x.go", "./daemon/run"},
	{"shared state", "internal/state/pg/x.go", "./tui"},
	{"shared state", "internal/state/pg/x.go", "./agentapi/agentserver"},
	{"shared state", "internal/state/pg/x.go", "./agentapi/cloud"},
	{"shared state", "internal/state/pg/x.go", "./agentapi/engine"},
	{"shared state", "internal/state/pg/x.go", "./agentapi/pool"},

	{"assembled", "agentapi/engine/x.go", "./setup"},
	{"assembled", "internal/config/x.go", "./setup/agents"},
	{"assembled", "daemon/x.go", "./setup"},
	{"assembled", "tui/x.go", "./setup"},
	{"assembled", "cmd/ohgw/x.go", "./setup"},

	{"setup", "setup/x.go", "./cli/kit"},
	{"setup", "setup/serving/x.go", "./tui"},
	{"setup", "setup/agents/x_test.go", "./internal/iostream"},

	{"parts of a backend", "setup/sandboxes/x.go", "./setup/agents"},
	{"parts of a backend", "setup/openhandsapi/x.go", "./setup/agents"},
	{"parts of a backend", "setup/agentmodels/x.go", "./setup/library"},
	{"parts of OpenHands' API", "setup/catalogue/x.go", "./setup/openhandsapi"},

	{"daemon", "daemon/run/x.go", "./cli"},
	{"daemon", "daemon/openhandsapi/x.go", "./tui/safe"},
	{"daemon and backends", "daemon/x.go", "./agentapi/agentserver"},
	{"daemon and backends", "daemon/x.go", "./agentapi/pool"},
	{"daemon and backends", "daemon/openhandsapi/through/x.go", "./agentapi/cloud"},
	{"daemon and backends", "daemon/openhandsapi/conversations/x.go", "./agentapi/engine/store"},
	{"daemon and backends", "daemon/daemontest/x.go", "./agentapi/engine"},
	{"gate", "daemon/gate/x.go", "./daemon/completions"},
	{"gate", "daemon/gate/x.go", "./daemon/responses"},
	{"gate", "daemon/gate/x.go", "./daemon/conversations"},
	{"gate", "daemon/gate/x.go", "./daemon/openhandsapi/session"},
	{"gate", "daemon/gate/x.go", "./daemon/chats"},
	{"completions", "daemon/completions/x.go", "./daemon/responses"},
	{"completions", "daemon/completions/x.go", "./daemon/conversations"},
	{"completions", "daemon/completions/x.go", "./daemon/openhandsapi/session"},
	{"daemon and settings", "daemon/x.go", "./internal/config"},
	{"daemon and settings", "daemon/openhandsapi/settings/x.go", "./internal/profile"},
	{"daemon and settings", "daemon/openhandsapi/settings/x.go", "./internal/openhands/shape"},
	{"daemon and settings", "daemon/x.go", "./internal/secret"},

	{"tui", "tui/x.go", "./cli/kit"},
	{"tui", "tui/session/x.go", "./daemon/openai"},
	{"tui", "tui/session/x.go", "./agentapi"},
	{"tui", "tui/x.go", "./agentapi/engine"},
	{"tui", "tui/x.go", "net/http"},
	{"tui", "tui/x.go", "net/http/httptest"},

	{"program", "setup/x.go", "./cli"},
	{"program", "tools/repocheck/x.go", "./cli"},

	{"commands", "cli/conversations/x.go", "./cli/server"},
	{"commands", "cli/cloud/x.go", "./cli/conversations"},
	{"commands", "cli/conversations/x.go", "./cli/cloud"},
	{"commands", "cli/server/x_test.go", "./cli/conversations"},
	{"commands and agent-servers", "cli/doctor/x.go", "./agentapi/agentserver"},
	{"commands and the pool", "cli/doctor/x.go", "./agentapi/pool/placement"},
	{"commands and the gateway", "cli/chat/x.go", "./daemon/run"},
	{"commands and the gateway", "cli/kit/x.go", "./daemon"},
	{"commands and the engine", "cli/chat/x.go", "./agentapi/engine/llm"},
	{"commands and the Cloud", "cli/chat/x.go", "./agentapi/cloud/account"},
	{"commands and the sandbox", "cli/chat/x.go", "./internal/sandbox/manager"},

	{"backends", "agentapi/agentserver/x.go", "./agentapi/cloud"},
	{"backends", "agentapi/agentserver/x.go", "./agentapi/engine"},
	{"backends", "agentapi/cloud/x.go", "./agentapi/agentserver"},
	{"backends", "agentapi/pool/x.go", "./agentapi/agentserver"},
	{"backends", "agentapi/cloud/account/x.go", "./agentapi/engine"},
	{"backends", "agentapi/engine/x.go", "./agentapi/agentserver"},
	{"backends", "agentapi/engine/llm/x.go", "./agentapi/cloud/transport"},
	{"tests of backends", "agentapi/agentserver/x_test.go", "./agentapi/cloud"},
	{"tests of backends", "agentapi/agentserver/x_test.go", "./agentapi/engine"},
	{"tests of backends", "agentapi/engine/x_test.go", "./agentapi/agentserver"},
	{"tests of backends", "agentapi/engine/x_test.go", "./agentapi/cloud"},

	{"parts of the engine", "agentapi/engine/session/x.go", "./agentapi/engine/library"},
	{"parts of the engine", "agentapi/engine/library/x.go", "./agentapi/engine/delegation"},

	{"programs of the engine", "agentapi/engine/tool/terminal/x.go", "os/exec"},
	{"programs of the engine", "agentapi/engine/x.go", "./internal/sandbox/manager"},
	{"browser", "agentapi/engine/toolset/x.go", "./agentapi/engine/browser"},
	{"browser", "agentapi/engine/tool/browser/x.go", "./agentapi/engine/browser/cdp"},
	{"programs of the engine", "agentapi/engine/enginetest/x.go", "./internal/sandbox/grants"},

	{"command line", "setup/x.go", "github.com/spf13/pflag"},
	{"command line", "cmd/ohgw/x.go", "github.com/spf13/cobra"},
	{"command line", "daemon/x_test.go", "github.com/spf13/cobra"},
	{"terminal", "cli/chat/x.go", "charm.land/bubbletea/v2"},
	{"terminal", "cli/x_test.go", "charm.land/lipgloss/v2"},
	{"terminal", "internal/iostream/x.go", "github.com/charmbracelet/x/ansi"},
	{"directories", "internal/paths/x.go", "github.com/adrg/xdg"},
	{"directories", "internal/paths/x_test.go", "github.com/adrg/xdg"},
	{"keyring", "setup/x.go", "github.com/zalando/go-keyring"},
	{"keyring", "cli/keys/x_test.go", "github.com/zalando/go-keyring"},
	{"postgres", "setup/x.go", "github.com/jackc/pgx/v5/pgconn"},
	{"postgres", "daemon/run/x_test.go", "github.com/jackc/pgx/v5/pgconn"},
	{"websocket", "daemon/openhandsapi/conversations/x.go", "github.com/coder/websocket"},
	{"websocket", "agentapi/cloud/x.go", "github.com/coder/websocket"},
	{"logger", "daemon/x.go", "log"},
	{"logger", "e2e/soak/x_test.go", "log"},

	{"test only", "daemon/x.go", "testing"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "testing"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "./agentapi/backendtest"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "github.com/google/go-cmp/cmp"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "github.com/prometheus/common/expfmt"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "go.uber.org/goleak"},
	{"fakes of the daemon", "daemon/daemontest/x.go", "pgregory.net/rapid"},
	{"test only", "setup/x.go", "github.com/google/go-cmp/cmp"},
	{"test only", "tui/x.go", "go.uber.org/goleak"},
	{"test only", "daemon/openai/x.go", "pgregory.net/rapid"},
	{"test only", "daemon/metrics/x.go", "github.com/prometheus/common/expfmt"},
	{"test only", "setup/agents/x.go", "./internal/testkit/llmtest"},
	{"test only", "setup/agents/x.go", "./internal/testkit/sdktest"},
	{"test only", "setup/agents/x.go", "./internal/testkit/processtest"},
	{"test only", "setup/agents/x.go", "./internal/testkit/forbidtest"},
	{"test only", "setup/agents/x.go", "./internal/testkit/agentservertest"},
	{"test only", "agentapi/cloud/x.go", "./agentapi/backendtest"},

	{"replaced", "internal/unpack/x_test.go", "io/ioutil"},
	{"replaced", "internal/id/x.go", "math/rand"},
	{"replaced", "daemon/x.go", "github.com/pkg/errors"},
	{"replaced", "daemon/x_test.go", "github.com/stretchr/testify/require"},
	{"templates", "setup/x.go", "text/template"},
	{"templates", "daemon/openhandsapi/x.go", "html/template"},
	{"clients of others", "daemon/x_test.go", "github.com/openai/openai-go/v3"},
	{"clients of others", "internal/gateway/x.go", "github.com/sashabaranov/go-openai"},
}

func TestEveryRuleForbidsWhatItSays(t *testing.T) {
	t.Parallel()
	all := rules(t)
	proved := map[string]bool{}
	for _, tt := range forbidden {
		at := slices.IndexFunc(all, func(r rule) bool { return r.name == tt.rule })
		if at < 0 {
			t.Errorf("there is no rule %q", tt.rule)
			continue
		}
		imported := full(tt.imported)
		for _, header := range []string{"", "//go:build e2e && windows && !amd64\n\n"} {
			found := breaches(made(t, tt.file, header, imported), all[at:at+1])
			if len(found) != 1 || !strings.Contains(found[0], tt.imported[strings.LastIndex(tt.imported, "/")+1:]) {
				t.Errorf("%s may import %s (%q): %q", tt.file, tt.imported, header, found)
			}
		}
		for _, entry := range all[at].deny {
			if denied([]string{entry}, imported) {
				proved[tt.rule+entry] = true
			}
		}
		proved[tt.rule] = true
	}
	for _, r := range all {
		for _, entry := range append([]string{""}, r.deny...) {
			if !proved[r.name+entry] {
				t.Errorf("no example breaks the rule %q, entry %q", r.name, entry)
			}
		}
	}
}

func TestRulesAllowWhatIsMeant(t *testing.T) {
	t.Parallel()
	all := rules(t)
	for _, tt := range []struct{ file, imported string }{
		{"agentapi/event/x.go", "encoding/json"},
		{"agentapi/event/x_test.go", "github.com/google/go-cmp/cmp"},
		{"agentapi/backendtest/x.go", "testing"},
		{"agentapi/backendtest/fakecloud/x.go", "./agentapi/backendtest/fakeserver"},
		{"agentapi/cloud/account/x.go", "./agentapi/cloud/v1"},
		{"agentapi/cloud/x_test.go", "./agentapi/agentserver"},
		{"agentapi/engine/x.go", "./internal/sandbox"},
		{"agentapi/engine/x_test.go", "./agentapi/engine"},
		{"cli/chat/x.go", "./cli/guide"},
		{"cli/serve/x_test.go", "./cli/serve"},
		{"cli/serve/x.go", "./cli/kit"},
		{"cli/serve/x.go", "./daemon"},
		{"daemon/openhandsapi/live/x.go", "github.com/coder/websocket"},
		{"daemon/x.go", "log/slog"},
		{"internal/id/x.go", "math/rand/v2"},
		{"internal/state/pg/x.go", "./agentapi/pool/placement"},
		{"internal/state/pg/x.go", "./agentapi/turn"},
		{"internal/state/pg/x.go", "./daemon/run/ledger"},
		{"setup/agents/x.go", "./agentapi/engine"},
		{"tools/gen/x.go", "./cli"},
		{"tools/gen/x.go", "github.com/spf13/pflag"},
		{"tui/x.go", "./internal/gateway"},
		{"tui/x_test.go", "net/http/httptest"},
	} {
		if found := breaches(made(t, tt.file, "", full(tt.imported)), all); len(found) != 0 {
			t.Errorf("%s may not import %s: %q", tt.file, tt.imported, found)
		}
	}
}

// full is an import path of a table.
func full(imported string) string {
	if local, ok := strings.CutPrefix(imported, "./"); ok {
		return module + "/" + local
	}
	return imported
}

// TestTreesOfRulesExist finds the rules of a package that has another name now.
func TestTreesOfRulesExist(t *testing.T) {
	t.Parallel()
	dirs := map[string]bool{}
	for _, s := range sources(t) {
		for dir := s.dir; dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, r := range rules(t) {
		trees := slices.Concat(r.in, r.not, r.apart)
		for _, entry := range r.deny {
			if local, ok := strings.CutPrefix(entry, "./"); ok {
				trees = append(trees, local)
			}
		}
		for _, tree := range trees {
			tree = strings.TrimSuffix(strings.TrimSuffix(tree, "/*"), "/...test")
			if tree != "...test" && !dirs[tree] {
				t.Errorf("the rule %q is about %s, which does not exist", r.name, tree)
			}
		}
	}
}

// TestEveryBuildIsRead looks for files that a build on this machine leaves out: the
// rules are for them as well.
func TestEveryBuildIsRead(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, line := range group.List {
				if expr, err := constraint.Parse(line.Text); err == nil && line.Pos() < s.tree.Package {
					tags(expr, seen)
				}
			}
		}
		for word := range strings.SplitSeq(strings.TrimSuffix(path.Base(s.name), ".go"), "_") {
			seen["_"+word] = true
		}
	}
	for _, want := range []string{"e2e", "soak", "codex", "unix", "darwin", "_linux", "_windows", "_darwin"} {
		if !seen[want] {
			t.Errorf("no file of the build %s is read", want)
		}
	}
}

// tags collects the tags of a build constraint that it asks for.
func tags(expr constraint.Expr, into map[string]bool) {
	switch x := expr.(type) {
	case *constraint.TagExpr:
		into[x.Tag] = true
	case *constraint.AndExpr:
		tags(x.X, into)
		tags(x.Y, into)
	case *constraint.OrExpr:
		tags(x.X, into)
		tags(x.Y, into)
	}
}

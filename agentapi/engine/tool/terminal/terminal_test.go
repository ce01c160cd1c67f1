//go:build unix

package terminal_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/hardening"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) {
	hardening.Process()
	waittest.Main(m)
}

func open(t testing.TB, change func(*terminal.Config)) *terminal.Terminal {
	t.Helper()
	cfg := terminal.Config{Dir: t.TempDir(), ID: t.Name(), Environ: os.Environ(), User: "me", Host: "here"}
	quiet := 30.0
	cfg.Params.NoChangeTimeout = &quiet
	if change != nil {
		change(&cfg)
	}
	if boxtest.Wanted() && cfg.Box == nil {
		box, err := boxtest.New(t).Box(t.Context(), manager.Env{Workspace: cfg.Dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = box.Close() })
		cfg.Box, cfg.Environ = box, sandbox.EnvironOf(box, cfg.Environ)
	}
	term, err := terminal.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
	return term
}

type seen struct {
	Text     string // of the content
	Model    string // what the model is shown
	IsError  bool
	Command  string
	ExitCode *int `json:"exit_code"`
	Timeout  bool
	SaveDir  string `json:"full_output_save_dir"`
	Metadata tool.TerminalMetadata
}

func run(t testing.TB, term *terminal.Terminal, args string) seen {
	t.Helper()
	result, err := term.Run(t.Context(), tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return read(t, result)
}

func read(t testing.TB, result tool.Result) seen {
	t.Helper()
	var o struct {
		Content []struct{ Text string }
		IsError bool `json:"is_error"`
		seen
	}
	if err := json.Unmarshal(result.Observation, &o); err != nil {
		t.Fatal(err)
	}
	o.Text, o.Model, o.seen.IsError = o.Content[0].Text, result.Content[0].Text, o.IsError
	return o.seen
}

func sh(t testing.TB, term *terminal.Terminal, command string) seen {
	t.Helper()
	args, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, term, string(args))
}

func (s seen) code() int {
	if s.ExitCode == nil {
		return -1000
	}
	return *s.ExitCode
}

func TestEchoTakesNoTimeToSpeakOf(t *testing.T) {
	t.Parallel()
	got := sh(t, open(t, nil), "echo hi")
	if got.Text != "hi" || got.code() != 0 || got.IsError || got.Timeout || got.Command != "echo hi" {
		t.Errorf("result = %+v", got)
	}
}

func TestStateSurvives(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	for _, step := range []struct {
		command, want string
		code          int
	}{
		{"mkdir sub && cd sub && export A=1 B='x y'", "", 0},
		{"basename \"$PWD\"; echo $A; echo \"$B\"", "sub\n1\nx y", 0},
		{"f() { echo \"f of $1\"; return 3; }", "", 0},
		{"f me", "f of me", 3},
		{"echo $?", "3", 0},
		{"declare -A map=([k]=v); alias hello='echo hello'", "", 0},
		{"echo ${map[k]}; hello", "v\nhello", 0},
		{"set -u; shopt -s nullglob; trap 'echo bye' USR1", "", 0},
		{"echo *.none | wc -c; kill -USR1 $$", "1\nbye", 0},
		{"for i in 1 2 3; do\n  echo $i\ndone", "1\n2\n3", 0},
		{"cat <<'EOF'\n  $A \"'\n\nEOF", "  $A \"'", 0},
		{"if true; then echo 'a;\nb'; fi", "a;\nb", 0},
		{"printf 'no newline'", "no newline", 0},
		{"return 1", "bash: return: can only `return' from a function or sourced script", 2},
		{"break", "bash: break: only meaningful in a `for', `while', or `until' loop", 0},
		{"set -x; echo traced; set +x", "++ echo traced\ntraced\n++ set +x", 0},
		{"echo 'not closed", "bash: unexpected EOF while looking for matching `''", 2},
		{"(exit 300)", "", 44},
		{"nosuchcommand", "bash: nosuchcommand: command not found", 127},
		{"set -e; true; set +e", "", 0},
		{"echo \\; a\\|b", "; a|b", 0},
		{"history | wc -l; echo 'no !! here'", "0\nno !! here", 0},
	} {
		got := sh(t, term, step.command)
		if got.Text != step.want || got.code() != step.code || got.IsError {
			t.Errorf("%q: text = %q, exit code %d; want %q, %d", step.command, got.Text, got.code(), step.want, step.code)
		}
	}
}

//go:build unix

package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// quick returns after a short silence.
func quick(cfg *terminal.Config) {
	quiet := 0.5
	cfg.Params.NoChangeTimeout = &quiet
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("there is no %s", program)
	}
}

func input(t *testing.T, term *terminal.Terminal, text string) seen {
	t.Helper()
	args, err := json.Marshal(map[string]any{"command": text, "is_input": true})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, term, string(args))
}

// until waits for a program that takes longer to say something than it may be
// silent.
func until(t *testing.T, term *terminal.Terminal, got seen, want string) {
	t.Helper()
	text := got.Text
	for range 50 {
		if strings.Contains(text, want) {
			return
		}
		if got.code() != -1 {
			break
		}
		got = sh(t, term, "")
		text += got.Text
	}
	t.Fatalf("no %q: %q, %+v", want, text, got)
}

// over waits for the end of a command, which may be silent for longer than quick waits
// on a busy machine, and gives all that it has printed.
func over(t *testing.T, term *terminal.Terminal, got seen) seen {
	t.Helper()
	text := got.Text
	for range 50 {
		if got.code() != -1 {
			got.Text = text
			return got
		}
		got = sh(t, term, "")
		text += got.Text
	}
	t.Fatalf("it does not end: %q, %+v", text, got)
	return got
}

func TestASilentProgramIsReportedAndGoesOn(t *testing.T) {
	t.Parallel()
	term := open(t, quick)
	got := sh(t, term, "echo start; read -r name; echo \"hello $name\"; read -r age; echo \"$age years\"; exit_later=1")
	if got.Text != "start" || got.code() != -1 || got.Metadata.ExitCode != -1 || got.Timeout || got.IsError || got.Metadata.WorkingDir != nil {
		t.Errorf("result = %+v", got)
	}
	if !strings.Contains(got.Model, "no new output for 0.5 seconds") || strings.Contains(got.Model, "exit code") {
		t.Error(got.Model)
	}
	if got := sh(t, term, ""); got.Text != "" || got.code() != -1 || !strings.HasPrefix(got.Metadata.Prefix, "[More output") {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "Bob $A 'x"); got.Text != "hello Bob $A 'x" || got.code() != -1 {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "7"); got.Text != "7 years" || got.code() != 0 || got.Metadata.WorkingDir == nil {
		t.Errorf("result = %+v", got)
	}
}

// Upstream gives timeout: false, and its Ctrl-C then fails.
func TestAHardLimitIsSaidAndCtrlCWorksAfterIt(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	got := run(t, term, `{"command":"sleep 60; echo not reached","timeout":0.2}`)
	if !got.Timeout || got.code() != -1 || !strings.Contains(got.Model, "the limit of 0.2 seconds has passed") {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "C-c"); got.code() != 130 || strings.Contains(got.Text, "not reached") {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "echo on"); got.Text != "on" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestALimitHoldsAlthoughThereIsOutput(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	got := run(t, term, `{"command":"while sleep 0.02; do echo x; done","timeout":0.3}`)
	text := got.Text
	for tries := 0; !strings.HasPrefix(text, "x\nx") && tries < 200; tries++ { // a shell may be slow
		got = run(t, term, `{"command":"","timeout":0.3}`)
		text += got.Text
		if !got.Timeout || got.code() != -1 {
			break
		}
	}
	if !got.Timeout || got.code() != -1 || !strings.HasPrefix(text, "x\nx") {
		t.Errorf("text = %q, the last result %+v", text, got)
	}
	if got := input(t, term, "ctrl+C"); got.code() != 130 {
		t.Errorf("result = %+v", got)
	}
}

func TestOnlyOneCommandRunsAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { quick(cfg); cfg.Dir = dir })
	sh(t, term, "echo busy; cat")
	got := sh(t, term, "touch made")
	if !got.IsError || got.code() != -1 || !strings.Contains(got.Model, "was not run") || !strings.Contains(got.Model, "echo busy; cat") {
		t.Errorf("result = %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the second command ran")
	}
	// A key is not a command, even if is_input was forgotten.
	if got := sh(t, term, "C-d"); got.code() != 0 || got.IsError {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "touch made"); got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestACommandThatEndsBetweenTheCallsIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { quick(cfg); cfg.Dir = dir })
	finish := func() {
		t.Helper()
		sh(t, term, "while [ ! -e go ]; do sleep 0.01; done; rm go; echo late; (exit 5)")
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, waittest.Patience, "the command ends", func() (any, bool) { return "the terminal is not ready", term.Ready() })
	}
	finish()
	if got := sh(t, term, ""); got.Text != "late" || got.code() != 5 || got.IsError {
		t.Errorf("empty command: %+v", got)
	}
	finish()
	if got := input(t, term, "y"); got.Text != "late" || got.code() != 5 || !strings.Contains(got.Model, "not sent") {
		t.Errorf("input: %+v", got)
	}
	finish()
	got := sh(t, term, "echo next")
	if got.Text != "next" || got.code() != 0 || !strings.Contains(got.Metadata.Prefix, "exit code 5. Its last output:]\nlate\n") {
		t.Errorf("next command: %+v", got)
	}
}

func TestCallsWithoutASenseAreRefused(t *testing.T) {
	t.Parallel()
	term := open(t, func(cfg *terminal.Config) { cfg.IdleLimit = 100 * time.Second })
	for args, want := range map[string]string{
		`{"command":""}`:                               "Nothing is running",
		`{"command":"y","is_input":true}`:              "Nothing is running that could take input",
		`{"command":"y","is_input":true,"reset":true}`: "exclude each other",
		`{"command":"echo a\necho b\n\n# c\necho c"}`:  "1. echo a\n2. echo b\n\n# c\n3. echo c",
		`{"command":"[{\"a\": 1}]"}`:                   "a list in Python or JSON",
		`{"command":"{'a': 1}"}`:                       "an object in Python or JSON",
		`{"command":"[[1, 2]]"}`:                       "a list",
		`{"command":"echo \u0000"}`:                    "NUL",
		`{"command":"sleep 1","timeout":91}`:           "Use at most 90",
		`{"command":"{ cat <<E\na\nE\n}\nls"}`:         "2. ls",
		`{"command":"echo a\ncat <<E\nb\nE\nls"}`:      "2. cat <<E\nb\nE\nls",
		`{"command":"for i in 1; do\necho\ndone\nls"}`: "2. ls",
	} {
		result, err := term.Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
		text := ""
		if problem, ok := errors.AsType[*tool.ArgumentError](err); ok {
			text = problem.Msg
		} else if err == nil {
			got := read(t, result)
			if !got.IsError || got.ExitCode != nil {
				t.Errorf("%s: result = %+v", args, got)
			}
			text = got.Model
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: text = %q, error %v", args, text, err)
		}
	}
}

func TestSeveralLinesThatAreOneCommandRun(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	for command, want := range map[string]string{
		"echo a;\necho b":                "a\nb",
		"echo a &&\necho b":              "a\nb",
		"echo a | \\\ncat":               "a",
		"# a comment\necho b":            "b",
		"[ -d / ] && [[ -d / ]]; { :; }": "",
		"(echo a\necho b)":               "a\nb",
		"echo \"a\nb\"":                  "a\nb",
		"coproc x { cat; }; echo hm":     "",

		"cat <<E\na\nE\necho b":                            "a\nb",
		"cat >h.txt <<'E' && echo c\na\nE\ncat h.txt":      "c\na",
		"cat <<E | tr a b\na\nE\n\n# so\necho c; (exit 0)": "b\nc",
		"cat <<-E >h.txt\n\ta\n\tE\ncat h.txt":             "a",
		"cat <<E\nE\necho b":                               "b",
		"cat <<A; cat <<B\na\nA\nb\nB\necho c":             "a\nb\nc",
	} {
		if got := sh(t, term, command); got.IsError || !strings.HasPrefix(strings.TrimLeft(got.Text, "[] 0123456789\n"), want) {
			t.Errorf("%q: result = %+v", command, got)
		}
	}
}

func TestResetBeginsAfresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { quick(cfg); cfg.Dir = dir })
	sh(t, term, "A=1; cd /")
	sh(t, term, "sleep 1000 & trap '' INT TERM HUP; while :; do sleep 1000; done")
	got := run(t, term, `{"command":"echo \"[$A]\"; pwd; pgrep -s 0 sleep","reset":true}`)
	if !strings.HasPrefix(got.Text, "[]\n"+dir) || !strings.HasPrefix(got.Metadata.Prefix, "[The shell was ended") || strings.Count(got.Text, "\n") != 1 {
		t.Errorf("result = %+v", got)
	}
	if got := run(t, term, `{"command":"","reset":true}`); got.IsError || got.ExitCode == nil || *got.ExitCode != 0 || got.Metadata.ExitCode != -1 || !strings.Contains(got.Model, "new one was started") {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "echo on"); got.Text != "on" || got.Metadata.Prefix != "" {
		t.Errorf("result = %+v", got)
	}
}

func TestExitEndsTheShellAndTheNextCommandSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command, text string
		code          int
	}{
		"exit":         {"echo bye; exit 3", "bye\nexit", 3},
		"killed":       {"echo bye; kill -9 $$", "bye", 137},
		"set -e":       {"echo bye; set -e; false", "bye", 1},
		"exec":         {"echo bye; exec sh -c 'echo replaced; exit 4'", "bye\nreplaced", 4},
		"with a child": {"sleep 1000 & disown; exec echo bye", "[1] *\nbye", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := open(t, nil)
			got := sh(t, term, test.command)
			text := got.Text
			if i := strings.IndexByte(text, '\n'); strings.HasPrefix(text, "[1] ") {
				text = "[1] *" + text[i:]
			}
			if text != test.text || got.code() != test.code || !strings.Contains(got.Model, "The shell has ended") {
				t.Errorf("result = %+v", got)
			}
			if got := sh(t, term, "echo $A on"); got.Text != "on" || got.code() != 0 {
				t.Errorf("result = %+v", got)
			}
		})
	}
}

func TestAShellThatDiedBetweenTheCallsIsReplaced(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "processes have other numbers inside")
	term := open(t, nil)
	pid, err := strconv.Atoi(sh(t, term, "echo $$").Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the shell dies", func() (any, bool) { return "the shell is alive", !term.Alive() })
	got := sh(t, term, "echo on")
	if got.Text != "on" || !strings.Contains(got.Metadata.Prefix, "had ended with exit code 137") {
		t.Errorf("result = %+v", got)
	}
}

func TestCancellingStopsACommandHoweverStubborn(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"sleep":                     "sleep 1000",
		"pipeline":                  "sleep 1000 | cat",
		"loop of the shell":         "while :; do :; done",
		"loop of programs":          "while :; do sleep 0.01; done",
		"loop of stubborn programs": "while :; do bash -c 'trap \"\" INT TERM; sleep 0.05'; done",
		"ignores SIGINT":            "bash -c 'trap \"\" INT; echo ready; while :; do sleep 0.05; done'",
		"ignores SIGTERM too":       "bash -c 'trap \"\" INT TERM; echo ready; while :; do sleep 0.05; done'",
		"the shell ignores it":      "trap '' INT TERM; echo ready; while :; do :; done",
		"reads":                     "read -r x",
		"raw mode":                  "stty raw -isig; cat",
		"stopped":                   "bash -c 'kill -STOP $$; sleep 1000'; fg",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := open(t, nil)
			sh(t, term, "true")
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			args, err := json.Marshal(map[string]any{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := term.Run(ctx, tool.Call{Args: args}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if got := sh(t, term, "echo on"); !strings.HasSuffix(got.Text, "on") || got.code() != 0 || got.IsError {
				t.Errorf("result = %+v", got)
			}
		})
	}
}

func TestACancelledCallRunsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { cfg.Dir = dir })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := term.Run(ctx, tool.Call{Args: json.RawMessage(`{"command":"touch made"}`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	sh(t, term, "true")
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("it ran")
	}
}

// The shell may not have started the program yet when Ctrl-C comes.
func TestCtrlCReachesAProgramThatIsAboutToStart(t *testing.T) {
	t.Parallel()
	term := open(t, quick)
	sh(t, term, "true")
	for range 50 {
		if got := run(t, term, `{"command":"sleep 1000","timeout":0.0001}`); got.code() != -1 {
			t.Fatalf("result = %+v", got)
		}
		if got := input(t, term, "C-c"); got.code() != 130 {
			t.Fatalf("the program goes on: %+v", got)
		}
	}
}

// On a busy machine it can take seconds until the shell gets the processor, reads its
// command and starts the program. A Ctrl-C that comes before waits for the program.
func TestCtrlCWaitsForAShellThatDoesNotRun(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell what a process does")
	}
	term := open(t, quick)
	sh(t, term, "true")
	shell := term.Shell()
	for _, command := range []string{"sleep 1000", "(sleep 1000)", "while :; do :; done"} {
		if err := syscall.Kill(shell, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if got := run(t, term, `{"command":"`+command+`","timeout":0.0001}`); got.code() != -1 {
			t.Fatalf("result = %+v", got)
		}
		goOn := time.AfterFunc(800*time.Millisecond, func() { _ = syscall.Kill(shell, syscall.SIGCONT) })
		got := over(t, term, input(t, term, "C-c"))
		goOn.Stop()
		if got.code() != 130 {
			t.Fatalf("%s goes on: %+v", command, got)
		}
	}
}

func TestCtrlCReachesAProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	term := open(t, quick)
	sh(t, term, "sleep 1000")
	// A terminal keeps much less for a program that does not read, so this cannot be
	// taken out of there in time.
	got := input(t, term, strings.Repeat("type ahead\n", 200_000))
	if got.code() != -1 {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "more"); !got.IsError || !strings.Contains(got.Model, "does not read its input") {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "C-c"); got.code() != 130 {
		t.Errorf("result = %+v", got)
	}
	// Input that no program has read is not run as commands.
	if got := over(t, term, sh(t, term, "echo clean")); got.Text != "clean" || got.code() != 0 || got.Metadata.Prefix != "" {
		t.Errorf("result = %+v", got)
	}
}

func TestCtrlZStopsAJob(t *testing.T) {
	t.Parallel()
	term := open(t, quick)
	sh(t, term, "sleep 1000")
	if got := input(t, term, "C-z"); got.code() != 148 || !strings.Contains(got.Text, "Stopped") {
		t.Errorf("result = %+v", got)
	}
	until(t, term, sh(t, term, "kill %1; wait 2>/dev/null; echo on"), "on")
}

func TestBackgroundJobsDoNotHoldACallUp(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	got := sh(t, term, "sleep 1000 &")
	if got.code() != 0 || got.Metadata.PID <= 0 || got.Text != fmt.Sprintf("[1] %d", got.Metadata.PID) {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "(sleep 0.05; echo from behind) & sleep 0.3; echo front"); !strings.Contains(got.Text, "from behind\n") {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "jobs | grep -c sleep"); got.Text != "1" {
		t.Errorf("result = %+v", got)
	}
}

func TestCloseEndsWhatTheShellStarted(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "processes have other numbers inside")
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell the environment of processes")
	}
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { cfg.Dir = dir })
	sh(t, term, "sleep 1000 & echo $! >a; nohup sleep 1000 >/dev/null 2>&1 & echo $! >b; "+
		"(setsid bash -c 'trap \"\" HUP TERM INT; echo $$ >c; while :; do sleep 1; done' >/dev/null 2>&1 &); "+
		"(setsid nohup bash -c '(sleep 1000 & echo $! >d)' >/dev/null 2>&1 &); while [ ! -s c ] || [ ! -s d ]; do sleep 0.01; done")
	var pids []int
	for _, name := range []string{"a", "b", "c", "d"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) != nil {
			t.Errorf("%s is dead before the test", name)
		}
		pids = append(pids, pid)
	}
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	for i, pid := range pids {
		if state(pid) != "" {
			t.Errorf("process %d lives: %s", i, state(pid))
		}
	}
}

// A killed ohgw ends nothing. The next one does, when the conversation goes on.
func TestWhatAKilledShellLeftBehindEndsWithTheNextOne(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "nothing that a shell has started outlives its box")
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell the environment of processes")
	}
	pids := map[string]int{}
	for _, id := range []string{"this", "this-one-not"} {
		term := open(t, func(cfg *terminal.Config) { cfg.ID = id })
		got := sh(t, term, "(setsid nohup sleep 1000 >/dev/null 2>&1 & echo $!)")
		pid, err := strconv.Atoi(got.Text)
		if err != nil {
			t.Fatal(err)
		}
		pids[id] = pid
	}
	fresh := open(t, func(cfg *terminal.Config) { cfg.ID = "this" })
	sh(t, fresh, "true")
	if state(pids["this"]) == "" {
		t.Error("a conversation without an earlier shell ended something")
	}
	next := open(t, func(cfg *terminal.Config) { cfg.ID, cfg.Replaced = "this", true })
	if got := sh(t, next, "echo on"); got.Text != "on" {
		t.Errorf("result = %+v", got)
	}
	if state(pids["this"]) != "" {
		t.Error("what the earlier shell has started goes on")
	}
	if state(pids["this-one-not"]) == "" {
		t.Error("what another conversation has started was ended")
	}
}

// state is what a process does; empty if it is dead.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[0]
}

func TestOutputCannotFakeTheEnd(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	got := sh(t, term, `printf '\036abc:1\036\n###PS1JSON###\n{"exit_code":9}\n###PS1END###\n'; printf 'nonce\0001\0009\0001\0/\0/\0' >&199; printf '\036'; echo end; sleep 0.2; (exit 3)`)
	if !strings.HasSuffix(got.Text, "end") || !strings.Contains(got.Text, "PS1JSON") || got.code() != 3 {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "echo on"); got.Text != "on" {
		t.Errorf("result = %+v", got)
	}
}

func TestBinaryAndBrokenTextIsShownAsText(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	for command, want := range map[string]string{
		`printf 'a\377\376b\n'`:                        "a\uFFFDb",
		`printf 'h\303\251 \342\202'`:                  "hé \uFFFD",
		`printf '\303'; sleep 0.1; printf '\251x'`:     "éx",
		`printf '10%%\r50%%\r100%%\n'`:                 "100%",
		`printf 'long line\rshort\n'`:                  "shortline",
		`printf 'abc\b\bX\n'`:                          "aXc",
		`printf '\033[31mred\033[0m \033]0;title\a.'`:  "red .",
		`printf 'old\r\033[Knew\n'`:                    "new",
		`printf 'a\033[2Cb\n'`:                         "a  b",
		`printf '\033[5;1Hfirst\033[9;1Hsecond'`:       "first\nsecond",
		`printf 'é%%\rà'`:                              "à%",
		`printf 'a\0b\n'`:                              "ab",
		`printf '\033]never ends\nbut goes on\n'`:      "\nbut goes on",
		`printf '\033Pqdata\033\\after'`:               "after",
		`printf 'tab\there'`:                           "tab\there",
		`printf 'x\r\r\ny'`:                            "x\ny",
		`head -c 3000000 /dev/urandom >/dev/tty; true`: "*",
	} {
		got := sh(t, term, command)
		if (got.Text != want && want != "*") || got.code() != 0 {
			t.Errorf("%s: text = %q, want %q", command, got.Text, want)
		}
	}
	if got := sh(t, term, "echo on"); got.Text != "on" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestLongOutputIsCutAndSaved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		size    int64
	}{
		"some":             {"seq 1 20000", 108894},
		"much":             {"yes 0123456789 | head -c 5000000", 5000000},
		"one long line":    {"head -c 1000000 /dev/zero | tr '\\0' x", 1000000},
		"two-byte letters": {"yes éé | head -c 3000000", 3000000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "observations")
			term := open(t, func(cfg *terminal.Config) { cfg.SaveDir = dir })
			got := sh(t, term, test.command)
			if n := len([]rune(got.Model)); n > tool.LimitTerminal || n < tool.LimitTerminal-1000 || got.code() != 0 || got.SaveDir != dir {
				t.Errorf("%d characters, exit code %d, %s", n, got.code(), got.SaveDir)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			path := filepath.Join(dir, files[0].Name())
			info, err := os.Stat(path)
			if err != nil || info.Size() > test.size || info.Size() < test.size-2 || !strings.Contains(got.Text, path) {
				t.Errorf("saved %d bytes of %d in %s, %v", info.Size(), test.size, path, err)
			}
			head, tail, found := strings.Cut(got.Text, "\n[... a part is left out here, from line ")
			if !found || head == "" || tail == "" {
				t.Fatal("no notice")
			}
			if line, _, _ := strings.Cut(tail, " "); line != strconv.Itoa(strings.Count(head, "\n")+1) {
				t.Errorf("the cut is said to be at line %s", line)
			}
		})
	}
}

func TestPasswordsAreNotEchoed(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	term := open(t, quick)
	got := sh(t, term, `python3 -c 'import getpass; p = getpass.getpass("Password: "); print(len(p), "characters")'`)
	until(t, term, got, "Password:")
	if got := input(t, term, "hunter2"); got.Text != "\n7 characters" || got.code() != 0 || strings.Contains(got.Model, "hunter2") {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "read -rs x"); got.code() != -1 {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "hunter3"); got.Text != "" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestPythonCanBeTalkedTo(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	term := open(t, quick)
	until(t, term, sh(t, term, "python3 -q"), ">>>")
	until(t, term, input(t, term, "6 * 7"), "42\n>>>")
	if got := input(t, term, "import time; time.sleep(1000)"); got.code() != -1 {
		t.Errorf("result = %+v", got)
	}
	until(t, term, input(t, term, "C-c"), "KeyboardInterrupt")
	// Python itself makes 130 of an exit after an interrupt.
	if got := input(t, term, "C-d"); got.code() != 0 && got.code() != 130 {
		t.Errorf("result = %+v", got)
	}
}

func TestVimCanBeUsed(t *testing.T) {
	t.Parallel()
	need(t, "vim")
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { quick(cfg); cfg.Dir = dir })
	if got := sh(t, term, "vim -u NONE -N file.txt"); got.code() != -1 || !strings.Contains(got.Text, "file.txt") {
		t.Errorf("result = %+v", got)
	}
	input(t, term, "ihello from vim")
	input(t, term, "ESC")
	if got := over(t, term, input(t, term, ":wq")); got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
	if got := over(t, term, sh(t, term, "cat file.txt")); got.Text != "hello from vim" {
		t.Errorf("result = %+v", got)
	}
}

func TestTheTerminalIsPutRightAfterAProgramThatSpoiltIt(t *testing.T) {
	t.Parallel()
	term := open(t, nil)
	for _, spoil := range []string{"stty raw echo", "stty echo -icanon min 0", "stty sane", "stty intr ^X", "printf '\\033(0\\033[?1049h'", "stty -onlcr"} {
		sh(t, term, spoil)
		if got := sh(t, term, "printf 'a\\nb\\n'"); got.Text != "a\nb" || got.code() != 0 {
			t.Errorf("after %s: %+v", spoil, got)
		}
	}
}

func TestResizeReachesThePrograms(t *testing.T) {
	t.Parallel()
	term := open(t, quick)
	if got := over(t, term, sh(t, term, "stty size")); got.Text != "50 200" {
		t.Error(got.Text)
	}
	sh(t, term, "bash -c \"trap 'stty size' WINCH; while :; do sleep 0.01; done\"")
	if err := term.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	until(t, term, seen{ExitCode: new(-1)}, "40 120")
}

func TestTheEnvironmentIsClean(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "the box chooses the variables")
	term := open(t, func(cfg *terminal.Config) {
		cfg.ID = "conversation-1"
		cfg.Environ = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/home/me", "LC_ALL=C.UTF-8", "OPENAI_API_KEY=SECRET", "OHGW_API_KEYS=SECRET", "OH_SESSION_API_KEYS_0=SECRET",
			"OH_SECRET_KEY=SECRET", "ANTHROPIC_API_KEY=SECRET", "AWS_SECRET_ACCESS_KEY=SECRET", "GITHUB_TOKEN=SECRET", "XDG_RUNTIME_DIR=SECRET",
			"DBUS_SESSION_BUS_ADDRESS=SECRET", "LLM_API_KEY=SECRET", "EDITOR=vim", "broken",
		}
		cfg.Params.Env = map[string]string{"MINE": "x y", "PAGER": "less"}
	})
	got := sh(t, term, "env | grep -v ^_= | sort")
	const want = "AI_AGENT=openhands\nAI_AGENT_TERMINAL=*\nGIT_PAGER=cat\nHOME=/home/me\nLC_ALL=C.UTF-8\nMINE=x y\nPAGER=less\nPATH=*\nPWD=*\nSHLVL=*\nTERM=xterm-256color"
	var lines []string
	for line := range strings.Lines(got.Text + "\n") {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "PATH" || name == "PWD" || name == "SHLVL" || strings.HasPrefix(line, "AI_AGENT_TERMINAL=conversation-1.") {
			line = name + "=*"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if all := strings.Join(lines, "\n"); all != want {
		t.Errorf("output:\n%s\n\nwant\n%s", all, want)
	}
}

func TestSecretsAreGivenToCommandsThatNameThemAndHidden(t *testing.T) {
	t.Parallel()
	secrets := secretenv.New(secretenv.Config{HTTP: http.DefaultClient, Now: time.Now})
	secrets.Set(map[string]secretenv.Secret{
		"API_TOKEN": secretenv.Static("it's \"secret\" $HOME \\ 1", ""), "LINES_KEY": secretenv.Static("-----BEGIN\nabc\n-----END\n", ""),
		"LOST": secretenv.Lookup("http://127.0.0.1:1/", nil, ""),
	})
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { quick(cfg); cfg.Secrets = secrets; cfg.SaveDir = dir })
	for _, step := range []struct{ command, want string }{
		{"echo \"[$OTHER]\"; env | grep -c SECRET", "[]\n0"},
		{"echo \"[$API_TOKEN]\" | wc -c; echo \"[$API_TOKEN]\"", "26\n[<secret-hidden>]"},
		{"(exit 9)", ""},
		{"echo $? $api_token; printenv API_TOKEN", "9\n<secret-hidden>"},
		{"printf %s \"$API_TOKEN\" | { IFS= read -rn4 a; IFS= read -r b; printf %s \"$a\"; sleep 0.1; printf '%s\\n' \"$b\"; }", "<secret-hidden>"},
		{"echo \"$LINES_KEY\"; echo $LINES_KEY", "<secret-hidden>\n-----BEGIN abc -----END"},
	} {
		if got := over(t, term, sh(t, term, step.command)); got.Text != step.want {
			t.Errorf("%s: text = %q, want %q", step.command, got.Text, step.want)
		}
	}
	got := sh(t, term, "echo LOST=$LOST")
	if got.Text != "LOST=" || !strings.Contains(got.Metadata.Prefix, "The value of the secret LOST is not available") {
		t.Errorf("result = %+v", got)
	}
	// Held back at first, because it could become the secret, and then not lost.
	if got := sh(t, term, "echo API_TOKEN >/dev/null; printf 'end: it'; read -r x"); got.Text != "end: it" {
		t.Errorf("result = %+v", got)
	}
	if got := input(t, term, "x"); got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
	if got := over(t, term, sh(t, term, "for i in $(seq 100000); do echo \"$API_TOKEN\"; done")); strings.Contains(got.Text+got.Model, "secret\"") {
		t.Error("a long output shows it")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 { // more than one if the command was slow
		t.Fatal(files, err)
	}
	for _, file := range files {
		if saved, err := os.ReadFile(file); err != nil || strings.Contains(string(saved), "\"secret\"") || !strings.Contains(string(saved), secretenv.Mark) {
			t.Errorf("the file shows it: %v", err)
		}
	}
}

func TestMetadataSaysWhereWeAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	term := open(t, func(cfg *terminal.Config) { cfg.Dir = dir })
	got := sh(t, term, "export PATH=$PWD:$PATH; cd /")
	m := got.Metadata
	if *m.WorkingDir != "/" || *m.PyInterpreterPath != filepath.Join(dir, "python") || *m.Username != "me" || *m.Hostname != "here" || m.ExitCode != 0 || m.PID != -1 {
		t.Errorf("metadata = %+v", m)
	}
	if want := "\n[directory: /]\n[python: " + filepath.Join(dir, "python") + "]\n[exit code: 0]"; got.Model != want {
		t.Errorf("text for the model = %q, want %q", got.Model, want)
	}
}

//go:build !windows

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// tty [-type TEXT] [-after REGEXP TEXT] [-int] CODE PROGRAM ARGS...
//
// Runs a program on a terminal of 100 columns, as stdin, stdout and stderr. It
// must end with the exit code. With -type, which may be repeated, a line is
// typed once the program asks for it (^C is what that key sends); with -after,
// once the terminal shows what the expression finds. With -int, the daemon of
// the script gets SIGINT once it runs.
// What the terminal shows is the output.
func cmdTTY(ts *testscript.TestScript, _ bool, args []string) {
	var typed []typing
	var interrupt bool
	for strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-type":
			typed, args = append(typed, typing{prompt, keys(args[1])}), args[2:]
		case "-after":
			typed, args = append(typed, typing{regexp.MustCompile(args[1]), keys(args[2])}), args[3:]
		case "-int":
			interrupt, args = true, args[1:]
		default:
			ts.Fatalf("tty: what is %s?", args[0])
		}
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	ts.Check(err)
	defer terminal.Close()
	shown := watch(ts, cmd, terminal, typed, interrupt)
	if got := exitCode(ts, cmd.Wait()); got != want {
		ts.Fatalf("exit code %d, want %d; the terminal shows:\n%s", got, want, shown)
	}
	_, err = ts.Stdout().Write(bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n")))
	ts.Check(err)
}

// typing is a line that is typed when the terminal shows what after finds in
// what was shown since the line before it.
type typing struct {
	after *regexp.Regexp
	line  string
}

// keys are the keys of a line: ^C is one of its own.
func keys(line string) string { return strings.ReplaceAll(line+"\n", "^C\n", "\x03") }

// watch collects what the terminal shows until the program has ended, and does
// what a person would do meanwhile.
func watch(ts *testscript.TestScript, cmd *exec.Cmd, terminal *os.File, typed []typing, interrupt bool) []byte {
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var shown []byte
	since := 0
	for buf := make([]byte, 4096); ; {
		n, err := terminal.Read(buf)
		shown = append(shown, buf[:n]...)
		if len(typed) > 0 && n > 0 && typed[0].after.Match(shown[since:]) {
			_, writeErr := terminal.WriteString(typed[0].line)
			ts.Check(writeErr)
			typed, since = typed[1:], len(shown)
		}
		if interrupt && bytes.Contains(shown, []byte("Ctrl-C ends it.")) {
			ts.Check(cmd.Process.Signal(syscall.SIGINT))
			interrupt = false
		}
		// Linux returns EIO when no process holds the other end any more.
		if errors.Is(err, syscall.EIO) || n == 0 {
			return shown
		}
		ts.Check(err)
	}
}

// until REGEXP SIGNAL CODE PROGRAM ARGS...
//
// Runs a program until it has written what the expression finds, to stdout or
// stderr, and sends it a signal then. It must end with the exit code. Stdin is
// empty.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	seen, want := regexp.MustCompile(args[0]), args[2]
	number := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[1]]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, lookPath(ts, args[3]), args[4:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	var once sync.Once
	out := &watched{note: func(all []byte) {
		if seen.Match(all) {
			once.Do(func() { ts.Check(cmd.Process.Signal(number)) })
		}
	}}
	cmd.Stdout, cmd.Stderr = out, out
	if got := strconv.Itoa(exitCode(ts, cmd.Run())); got != want {
		ts.Fatalf("exit code %s, want %s; it wrote:\n%s", got, want, out.all)
	}
	_, err := ts.Stdout().Write(out.all)
	ts.Check(err)
}

// prompt is how a question for a person ends.
var prompt = regexp.MustCompile(`[\]:] $`)

// watched keeps what was written and shows it to a function.
type watched struct {
	all  []byte
	note func(all []byte)
}

func (w *watched) Write(p []byte) (int, error) {
	w.all = append(w.all, p...)
	w.note(w.all)
	return len(p), nil
}

// lookPath finds a program as the script does.
func lookPath(ts *testscript.TestScript, name string) string {
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if path := dir + "/" + name; isFile(path) {
			return path
		}
	}
	ts.Fatalf("tty: no program %s", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// environ is the environment of the script, as far as ohgw looks at it.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TERM", "TZ", "PATH", "USER", "TMPDIR", "NO_COLOR", "CLICOLOR_FORCE",
		"OHGW_KEY_STORE", "OH_PERSISTENCE_DIR", "OH_SECRET_KEY", fakeKeyringDir, "OHGW_AGENT_SERVER_URL", "OHGW_AGENT_SERVER_KEY", "OHGW_API_KEY", "OHGW_API_KEYS", "OHGW_BACKEND", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OHGW_CONFIG", "OHGW_URL", "OHGW_ADDR", "OHGW_STATE", "OHGW_STATE_FILE", "SYSTEMCTL_LOG", "SYSTEMCTL_STATE", "GOCOVERDIR", "GORACE",
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

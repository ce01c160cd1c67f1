//go:build !windows

package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// tty [-type TEXT] [-int] CODE PROGRAM ARGS...
//
// Runs a program on a terminal of 100 columns, as stdin, stdout and stderr. It
// must end with the exit code. With -type, which may be repeated, a line is
// typed once the program asks for it (^C is what that key sends); with -int,
// the daemon of the script gets SIGINT once it runs.
// What the terminal shows is the output.
func cmdTTY(ts *testscript.TestScript, _ bool, args []string) {
	var typed []string
	var interrupt bool
	for strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-type":
			typed, args = append(typed, strings.ReplaceAll(args[1]+"\n", "^C\n", "\x03")), args[2:]
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

// watch collects what the terminal shows until the program has ended, and does
// what a person would do meanwhile.
func watch(ts *testscript.TestScript, cmd *exec.Cmd, terminal *os.File, typed []string, interrupt bool) []byte {
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var shown []byte
	for buf := make([]byte, 4096); ; {
		n, err := terminal.Read(buf)
		shown = append(shown, buf[:n]...)
		if len(typed) > 0 && n > 0 && (bytes.HasSuffix(shown, []byte("] ")) || bytes.HasSuffix(shown, []byte(": "))) {
			_, writeErr := terminal.WriteString(typed[0])
			ts.Check(writeErr)
			typed = typed[1:]
		}
		if interrupt && bytes.Contains(shown, []byte("Ctrl-C ends it.")) {
			ts.Check(cmd.Process.Signal(syscall.SIGINT))
			interrupt = false
		}
		// Linux says EIO when nobody holds the other end any more.
		if errors.Is(err, syscall.EIO) || n == 0 {
			return shown
		}
		ts.Check(err)
	}
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
		"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TERM", "TZ", "PATH", "TMPDIR", "NO_COLOR", "CLICOLOR_FORCE",
		"OHGW_KEY_STORE", "OH_PERSISTENCE_DIR", "OH_SECRET_KEY", fakeKeyringDir, "OHGW_AGENT_SERVER_URL", "OHGW_AGENT_SERVER_KEY", "OHGW_API_KEY", "OHGW_API_KEYS", "OHGW_BACKEND", "OPENAI_API_KEY", "OHGW_CONFIG", "OHGW_URL", "GOCOVERDIR", "GORACE",
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ohgw/ohgw/cli/kit"
)

// hint is the line of an error with what to do.
var hint = regexp.MustCompile(`(?m)^  hint: +(.*)$`)

// carryout [-background | -code N | -tty SHOWN KEYS] COMMAND [PLACEHOLDER=VALUE]...
//
// Does what stderr says: its last hint, or a line if it is not an error, must have the
// command, which is typed into a shell as it is there, with the placeholders filled in.
// What the shell exports is in the environment of what follows. With -background the
// command goes on, and the script waits for its daemon. With -code it ends with that exit
// code: it shows what is wrong. With -tty it is typed on a terminal, and the keys when
// that shows what matches.
func cmdCarryOut(ts *testscript.TestScript, _ bool, args []string) {
	background, code := args[0] == "-background", "0"
	var onTerminal []string
	switch {
	case background:
		args = args[1:]
	case args[0] == "-code":
		code, args = args[1], args[2:]
	case args[0] == "-tty":
		onTerminal, args = []string{"-after", args[1], args[2], "0", "sh", "-c"}, args[3:]
	}
	line := args[0]
	said := ts.ReadFile("stderr")
	if all := hint.FindAllStringSubmatch(said, -1); all != nil {
		said = all[len(all)-1][1]
	}
	if !strings.Contains(said, line) {
		ts.Fatalf("the program says %q, and not to type %q", said, line)
	}
	for _, arg := range args[1:] {
		placeholder, value, _ := strings.Cut(arg, "=")
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(placeholder) + `\b`)
		line = word.ReplaceAllLiteralString(line, value)
	}
	switch {
	case background:
		typeInBackground(ts, line)
		return
	case onTerminal != nil:
		cmdTTY(ts, false, append(onTerminal, line))
		return
	}
	typeIn(ts, line, code)
}

// typeIn types a line into a shell, waits for its end, and takes over what it
// exports.
func typeIn(ts *testscript.TestScript, line, code string) {
	exported := ts.MkAbs("exported")
	cmd := exec.Command("sh", "-c", line+"\ncode=$?; env -0 >"+exported+"; exit $code")
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	out, err := cmd.CombinedOutput()
	if got := strconv.Itoa(exitCode(ts, err)); got != code {
		ts.Fatalf("%s: exit code %s, want %s\n%s", line, got, code, out)
	}
	text, err := os.ReadFile(exported)
	ts.Check(err)
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, ok := strings.Cut(variable, "=")
		if ok && name != "_" && name != "PWD" && ts.Getenv(name) != value {
			ts.Setenv(name, value)
		}
	}
}

// typeInBackground types a line into a shell that goes on until the script ends,
// or until the script ends its daemon.
func typeInBackground(ts *testscript.TestScript, line string) {
	cmd := exec.Command("sh", "-c", "exec "+line)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environ(ts), &said, &said
	ts.Check(cmd.Start())
	var wait sync.WaitGroup
	wait.Go(func() { _ = cmd.Wait() }) // The script knows how it ended.
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		wait.Wait()
	})
	info, _, err := awaitDaemon(ts, []*exec.Cmd{cmd})
	ts.Check(err)
	ts.Setenv("DAEMON", info.URL)
}

// command is what a hint has to type.
var command = regexp.MustCompile(`(?:^|[ (])(?:export [A-Z]|chmod |sudo |unset [A-Z]|kill |systemctl |"\$\{EDITOR|` +
	`ohgw (?:acp|agents|chat|cloud|completion|config|connect|conversations|doctor|help|keys|logs|models|pool|profiles|ps|serve|service|state|status|stop|tokens|version)\b)`)

// carries is a line of a script that carries out a hint.
var carries = regexp.MustCompile(`^(?:\[\w+\] )?carryout (?:-background |-code \d+ |-tty (?:'[^']*'|\S+) \S+ )?(.*)`)

// Every hint with a command is carried out by a script, or stands in hints.tsv
// with the reason why none can.
func TestEveryHintIsCarriedOut(t *testing.T) {
	t.Parallel()
	var done []string
	for _, script := range glob(t, filepath.Join("testdata", "script", "*.txtar")) {
		for line := range strings.Lines(script) {
			if m := carries.FindStringSubmatch(line); m != nil {
				done = append(done, argument(m[1]))
			}
		}
	}
	excused := map[string]bool{}
	table, err := os.ReadFile(filepath.Join("testdata", "hints.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		text, reason, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if reason == "" {
			t.Errorf("hints.tsv has no reason for %q", text)
		}
		excused[text] = false
	}
	for _, text := range hintsWithCommands(t) {
		_, known := excused[text]
		switch did := carriedOut(text, done); {
		case did && known:
			t.Errorf("a script carries out %q: remove it from hints.tsv", text)
		case known:
			excused[text] = true
		case !did:
			t.Errorf("no script carries out the hint %q (carryout COMMAND), and hints.tsv has no reason", text)
		}
	}
	for text, used := range excused {
		if !used {
			t.Errorf("hints.tsv has %q, which is no hint with a command any more", text)
		}
	}
}

// A hint is copied line by line: no line ends within a command.
func TestNoHintIsBrokenWithinACommand(t *testing.T) {
	t.Parallel()
	last := regexp.MustCompile(`: ((?:ohgw|sudo|chmod|export|unset|kill|systemctl|mkdir|\$\{EDITOR)[ :][^;]*)$`)
	found := 0
	for _, text := range hintsWithCommands(t) {
		for width := 20; width <= 100; width += 20 {
			lines := kit.Wrap(text, width)
			if joined := strings.Join(lines, " "); joined != text {
				t.Errorf("wrapped to %d: %q, want %q", width, joined, text)
			}
			m := last.FindStringSubmatch(text)
			if m == nil || strings.Contains(m[1], " shows") || strings.Contains(m[1], ", ") {
				continue
			}
			found++
			if !strings.HasSuffix(lines[len(lines)-1], m[1]) {
				t.Errorf("the command %q of a hint is broken: %q", m[1], lines)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d hints end in a command", found)
	}
}

func glob(t *testing.T, pattern string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// argument is the first argument of a script's command.
func argument(rest string) string {
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(rest, "'") {
		first, _, _ := strings.Cut(rest, " ")
		return first
	}
	first, _, _ := strings.Cut(rest[1:], "'")
	return first
}

// hintsWithCommands are the hints of docs/messages.tsv that have something to
// type. In them … is what a run fills in.
func hintsWithCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "messages.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var hints []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) < 5 || !command.MatchString(cells[4]) || seen[cells[4]] {
			continue
		}
		seen[cells[4]] = true
		hints = append(hints, cells[4])
	}
	return hints
}

// arguments begin what belongs to the command before them.
var arguments = regexp.MustCompile(`^ (?:-|…|[A-Z]|&&)`)

// carriedOut reports whether a command that a script has typed is in a hint.
func carriedOut(text string, done []string) bool {
	for _, typed := range done {
		if _, rest, ok := strings.Cut(text, typed); ok && !arguments.MatchString(rest) {
			return true
		}
		// The command has what a run has filled in.
		text, _, _ := strings.Cut(strings.Replace(text, " prints ", " shows ", 1), " shows ")
		for at := range text {
			rest := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(text[at:]), "…", ".*"))
			if rest.MatchString(typed) && strings.Contains(text[at:], "…") && command.MatchString(" "+text[at:]) {
				return true
			}
		}
	}
	return false
}

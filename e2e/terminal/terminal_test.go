//go:build e2e

package terminal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

var update = flag.Bool("update", false, "write the screens anew")

// patience bounds every wait for a screen.
const patience = 30 * time.Second

// program is the program, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ohgw-terminal-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ohgw")
	out, err := exec.Command("go", "build", "-o", path, "github.com/ohgw/ohgw/cmd/ohgw").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build ohgw: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// person is a user with a home, a scripted LLM and a profile for it.
type person struct {
	testing.TB
	home string
	llm  *llmtest.Server
	env  []string
}

func newPerson(t testing.TB) *person {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		message := t.Name() + " checks NOTHING: there is no tmux"
		if os.Getenv("CI") == "true" {
			t.Fatal(message)
		}
		fmt.Fprintln(os.Stderr, message) // a skip alone is silent without -v
		t.Skip(message)
	}
	ohgw, err := program()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "ohgw-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p := &person{TB: t, home: home, llm: llmtest.New(t)}
	p.env = []string{
		"HOME=" + p.home, "XDG_RUNTIME_DIR=" + p.home + "/run", "OH_PERSISTENCE_DIR=" + p.home + "/oh", "OPENAI_API_KEY=sk-scripted",
		"OHGW_BACKEND=embedded", "LANG=C.UTF-8", "TZ=UTC", "SHELL=/bin/sh", "PATH=" + filepath.Dir(ohgw) + ":" + os.Getenv("PATH"),
	}
	for _, name := range []string{"work", "spare"} {
		p.write("oh/profiles/"+name+".json", fmt.Sprintf(`{"model": "openai/%s-model", "base_url": %q}`, name, p.llm.URL))
	}
	p.write("oh/settings.json", `{"active_profile": "work"}`)
	// The agent's sandbox shows nothing else of the home directory.
	if err := os.Mkdir(p.home+"/project", 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "OHGW_SANDBOX_WRITE="+p.home+"/project")
	if err := os.Mkdir(p.home+"/run", 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// write makes a file in the person's home.
func (p *person) write(name, text string) string {
	p.Helper()
	path := filepath.Join(p.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.Fatal(err)
	}
	return path
}

func (p *person) read(name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.home, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// asked counts the requests to the LLM whose newest user message has this text.
func (p *person) asked(text string) int {
	n := 0
	for _, r := range p.llm.Requests() {
		if strings.Contains(r.UserText(), text) {
			n++
		}
	}
	return n
}

// screen is a terminal with a program in it.
type screen struct {
	*person
	socket string
}

// size is columns and rows.
type size struct{ cols, rows int }

var usual = size{80, 24}

// sizes are those of the golden screens.
var sizes = []size{usual, {120, 40}, {40, 12}}

func (z size) String() string { return fmt.Sprintf("%dx%d", z.cols, z.rows) }

// open opens a terminal and runs a command line of the shell in it.
func (p *person) open(z size, command string, env ...string) *screen {
	p.Helper()
	dir, err := os.MkdirTemp("", "ohgw-tmux-") // short: a socket's path is
	if err != nil {
		p.Fatal(err)
	}
	s := &screen{person: p, socket: filepath.Join(dir, "s")}
	conf := p.write("tmux.conf", strings.Join([]string{
		"set -g default-terminal tmux-256color", "set -s escape-time 0", "set -g status off", "set -g remain-on-exit on",
		"set -g remain-on-exit-format ''", "set -s set-clipboard on", "set -g history-limit 0", "set -g focus-events on", "set -g exit-empty off",
	}, "\n")+"\n")
	words := append([]string{"-f", conf, "new-session", "-d", "-x", strconv.Itoa(z.cols), "-y", strconv.Itoa(z.rows), "-c", p.home, "env", "-u", "TMUX"}, p.env...)
	words = append(append(words, env...), "sh", "-c", "trap : INT; ( "+command+" ); echo $? > "+s.socket+".code")
	p.Cleanup(func() {
		s.tmux("kill-server")
		_ = os.RemoveAll(dir)
	})
	s.tmux(words...)
	return s
}

// chat opens a chat whose agent gets a new directory: a chat in the home directory
// asks first.
func (p *person) chat(z size, args string, env ...string) *screen {
	p.Helper()
	s := p.open(z, "exec ohgw chat --workspace none "+args, env...)
	return s
}

func (s *screen) tmux(words ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", s.socket}, words...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %q: %v\n%s", words, err, out)
	}
	return string(out)
}

// shown is the text on the screen.
func (s *screen) shown() string {
	s.Helper()
	return s.tmux("capture-pane", "-p")
}

// types types text as it is.
func (s *screen) types(text string) {
	s.Helper()
	s.tmux("send-keys", "-l", "--", text)
}

// press presses keys, by the names that tmux has for them.
func (s *screen) press(keys ...string) {
	s.Helper()
	s.tmux(append([]string{"send-keys", "--"}, keys...)...)
}

// asks types a question and sends it.
func (s *screen) asks(text string) {
	s.Helper()
	s.types(text)
	s.press("Enter")
}

// until waits until the screen is as wanted.
func (s *screen) until(what string, ok func(shown string) bool) string {
	s.Helper()
	var shown string
	waittest.Until(s, patience, what, func() (any, bool) {
		shown = s.shown()
		return "\n" + shown, ok(shown)
	})
	return shown
}

// sees waits until all of the texts are on the screen.
func (s *screen) sees(texts ...string) string {
	s.Helper()
	return s.until(fmt.Sprintf("%q", texts), func(shown string) bool {
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
}

// misses waits until a text is no longer on the screen.
func (s *screen) misses(text string) {
	s.Helper()
	s.until("without "+text, func(shown string) bool { return !strings.Contains(shown, text) })
}

// ended waits for the end of the program and gives its exit code.
func (s *screen) ended() int {
	s.Helper()
	var n int
	waittest.Until(s, patience, "the program ends", func() (any, bool) {
		code, err := os.ReadFile(s.socket + ".code")
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(code)))
		}
		if err != nil {
			return "\n" + s.shown(), false
		}
		return nil, true
	})
	return n
}

// alternate tells whether the program has the screen for itself.
func (s *screen) alternate() bool {
	s.Helper()
	return strings.TrimSpace(s.tmux("display-message", "-p", "#{alternate_on}")) == "1"
}

// What differs from run to run, and what stands for it: as wide.
var fleeting = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "01234567-89ab-4cde-8f01-23456789abcd"},
	{regexp.MustCompile(` [0-9a-f]{8}( |\n)`), " 01234567$1"},
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]{5}\b`), "127.0.0.1:54321"},
	{regexp.MustCompile(`(?m)( [ ·] ?)([0-9]+ ms|[0-9.]+ s)((\x1b\[[0-9;]*m)*)$`), "${1}12 ms${3}"},
	{regexp.MustCompile(`\b([0-9]\.[0-9]|[1-5][0-9]) s\b`), "1.2 s"},
	{regexp.MustCompile(`/[a-z/]+/\[redacted\]/project/`), ""}, // the home of a test looks like a token
	{regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`), "⠋"},
	{regexp.MustCompile(`[0-9.]+k → `), "2.3k → "},
}

func steady(shown string) string {
	for _, f := range fleeting {
		shown = f.pattern.ReplaceAllString(shown, f.with)
	}
	return shown
}

// golden waits until the screen is that of testdata.
func (s *screen) golden(name string, z size) {
	s.Helper()
	path := filepath.Join("testdata", fmt.Sprintf("%s.%s.golden", name, z))
	if *update {
		before := ""
		got := s.until("a screen that stays", func(shown string) bool {
			same := steady(shown) == before
			before = steady(shown)
			if !same {
				time.Sleep(300 * time.Millisecond)
			}
			return same
		})
		if err := os.WriteFile(path, []byte(steady(got)), 0o600); err != nil {
			s.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	var got string
	if waittest.Poll(patience/3, func() bool {
		got = steady(s.shown())
		return got == string(want)
	}) {
		return
	}
	s.Errorf("%s (-want +got):\n%s", path, cmp.Diff(string(want), got))
}

// daemon starts `ohgw serve` for this person and gives its URL and what ends it.
func (p *person) daemon(addr string, env []string, args ...string) (url string, kill func()) {
	p.Helper()
	ohgw, err := program()
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	cmd := exec.CommandContext(ctx, ohgw, append([]string{"serve", "--json", "--addr", addr, "--drain", "0s"}, args...)...) // killed by cancel
	cmd.Env, cmd.Dir = append(append([]string{}, p.env...), env...), p.home
	ready := &firstLine{line: make(chan string, 1)}
	cmd.Stdout = ready
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait()
	})
	p.Cleanup(kill)
	select {
	case line := <-ready.line:
		_, rest, _ := strings.Cut(line, `"url":"`)
		url, _, _ = strings.Cut(rest, `"`)
		return url, kill
	case <-time.After(patience):
		p.Fatal("the daemon does not come up")
	}
	return "", kill
}

// firstLine gives the first line that is written.
type firstLine struct {
	text []byte
	once sync.Once
	line chan string
}

func (f *firstLine) Write(b []byte) (int, error) {
	f.text = append(f.text, b...)
	if line, _, ok := strings.Cut(string(f.text), "\n"); ok {
		f.once.Do(func() { f.line <- line })
	}
	return len(b), nil
}

//go:build e2e

package terminal_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// freeAddress returns an address on which no process listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestAnUnreachableDaemonIsFoundWhenItComes(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	addr := freeAddress(t)
	screens := map[size]*screen{}
	for _, z := range sizes {
		s := p.chat(z, "--url http://"+addr, "OHGW_API_KEY=key-of-this-test")
		s.sees("unreachable")
		s.golden("unreachable", z)
		screens[z] = s
	}
	s := screens[usual]
	s.types("written meanwhile")
	p.daemon(addr, []string{"OHGW_API_KEYS=key-of-this-test"})
	s.sees("ready")
	s.press("Enter")
	s.sees("You said: written meanwhile")
}

func TestAWrongKeyIsSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	url, _ := p.daemon("127.0.0.1:0", []string{"OHGW_API_KEYS=right-key"})
	for _, z := range sizes {
		s := p.chat(z, "--url "+url, "OHGW_API_KEY=wrong-key")
		s.sees("key rejected")
		s.golden("locked", z)
	}
}

func TestNoModelIsSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, z := range sizes {
		s := p.chat(z, "--no-input", "OH_PERSISTENCE_DIR="+p.home+"/nothing")
		s.sees("no models")
		s.golden("no-models", z)
	}
}

func TestAFailedRunIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, z := range sizes {
		t.Run(z.String(), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			failure := llmtest.Fail(http.StatusBadRequest, "The model is out of order.")
			failure.Wait = time.Second // From a second on, the screen has the time.
			p.llm.On(llmtest.Says("deploy"), failure, llmtest.Text("Deployed."))
			s := p.chat(z, "")
			s.sees("ready")
			s.asks("deploy")
			s.sees("Press r")
			s.golden("failed", z)
			s.press("r")
			s.sees("Deployed.")
		})
	}
}

func TestThePlaceInTheQueueIsShown(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("long"), llmtest.Slow(10_000, 50*time.Millisecond))
	p.env = append(p.env, "OHGW_API_KEYS=key-of-this-test")
	p.daemon("127.0.0.1:0", []string{"OHGW_MAX_RUNS=1"})
	first := p.chat(usual, "")
	first.sees("ready")
	first.asks("long work")
	first.sees("word2")
	second := p.chat(usual, "")
	second.sees("ready")
	second.asks("short work")
	second.sees("1 question before this one")
	first.press("Escape")
	second.sees("You said: short work")
}

func TestADaemonKilledInTheMiddleRunsNothingTwice(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	addr := freeAddress(t)
	keys := []string{"OHGW_API_KEYS=key-of-this-test"}
	_, kill := p.daemon(addr, keys)
	p.llm.On(llmtest.Says("long"), llmtest.Reply{Text: "So far.", Pace: time.Millisecond, End: llmtest.Hang})
	s := p.chat(usual, "--url http://"+addr, "OHGW_API_KEY=key-of-this-test")
	s.sees("ready")
	s.asks("long work")
	s.sees("So far.")
	kill()
	s.sees("reconnecting")
	p.daemon(addr, keys)
	// The daemon that died ran the agent itself: what is left is its log.
	s.sees("Press r")
	if n := p.asked("long work"); n != 1 {
		t.Errorf("the agent ran %d times", n)
	}
}

func TestAWindowMayBecomeTiny(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.knowsTheTests()
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("Do the tests pass?")
	s.sees("1 action")
	s.tmux("resize-window", "-x", "20", "-y", "5")
	s.sees("ready")
	s.types("tiny")
	s.sees("› tiny")
	s.tmux("resize-window", "-x", "80", "-y", "24")
	s.press("C-u")
	s.golden("answer", usual)
}

func TestThereIsNoColourWithNO_COLOR(t *testing.T) {
	t.Parallel()
	colours := func(env ...string) bool {
		p := newPerson(t)
		p.knowsTheTests()
		s := p.chat(usual, "", env...)
		s.sees("ready")
		s.asks("Do the tests pass?")
		s.sees("1 action")
		raw := s.tmux("capture-pane", "-p", "-e")
		return regexp.MustCompile(`\x1b\[([0-9;]+;)?(3[0-8]|9[0-7])`).MatchString(raw)
	}
	if colours("NO_COLOR=1") {
		t.Error("there are colours with NO_COLOR")
	}
	if !colours() {
		t.Error("there are no colours without NO_COLOR")
	}
}

func TestTheLineChatNeedsNoScreen(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.knowsTheTests()
	p.llm.On(llmtest.Says("still there?"), llmtest.Text("Still here."))
	p.llm.On(llmtest.Says("count"), llmtest.Slow(2000, 20*time.Millisecond))
	s := p.chat(usual, "--plain")
	s.until("a prompt", func(shown string) bool { return strings.Contains(shown, "openhands") })
	s.asks("Do the tests pass?")
	s.sees("All 12 of them", "Done: 1 action")
	if s.alternate() {
		t.Error("it took the screen")
	}
	s.asks("count")
	s.until("the question", func(string) bool { return p.asked("count") == 1 })
	s.press("C-c")
	s.sees("Stopped after")
	s.asks("still there?")
	s.sees("Still here.")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAKilledChatLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.open(usual, "PS1='prompt: ' exec bash --norc --noprofile -i")
	s.sees("prompt:")
	s.asks("sh -c 'echo $$ > pid; exec ohgw chat --workspace none'")
	s.sees("ready")
	s.types("half a question")
	s.sees("› half a question")
	s.tmux("run-shell", "kill -9 $(cat "+p.home+"/pid)")
	s.sees("prompt:")
	s.asks("exec ohgw chat --workspace none")
	s.misses("half a question")
	s.sees("● ready")
	s.asks("alive?")
	s.sees("You said: alive?", "ready")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s.alternate() {
		t.Error("the screen was not given back")
	}
}

func TestEveryWayOutGivesTheScreenBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		leave func(*screen)
		code  int
	}{
		"quit":    {func(s *screen) { s.asks("/quit") }, 0},
		"Ctrl-D":  {func(s *screen) { s.press("C-d") }, 0},
		"Ctrl-C":  {func(s *screen) { s.press("C-c"); s.sees("again"); s.press("C-c") }, 0},
		"SIGHUP":  {func(s *screen) { s.tmux("run-shell", "kill -HUP $(cat "+s.home+"/pid)") }, 129},
		"SIGTERM": {func(s *screen) { s.tmux("run-shell", "kill -TERM $(cat "+s.home+"/pid)") }, 143},
		"SIGINT":  {func(s *screen) { s.tmux("run-shell", "kill -INT $(cat "+s.home+"/pid)") }, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			s := p.open(usual, "exec sh -c 'echo $$ > pid; exec ohgw chat --workspace none'")
			s.sees("ready")
			tc.leave(s)
			if code := s.ended(); code != tc.code {
				t.Errorf("exit code %d, want %d; the screen shows:\n%s", code, tc.code, s.shown())
			}
			if s.alternate() {
				t.Error("the screen was not given back")
			}
		})
	}
}

func TestAnAnswerCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("attack"), llmtest.Text("before \x1b[2J\x1b[H\x1b]0;owned\x07\x1b[31mred\x9b5m\u202eevil after"))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("attack")
	s.sees("before", "after", "attack", "ready")
	if title := s.tmux("display-message", "-p", "#{pane_title}"); strings.Contains(title, "owned") {
		t.Errorf("the title of the terminal is %q", title)
	}
}

func TestTextOfTheWorldKeepsTheLayout(t *testing.T) {
	t.Parallel()
	for _, z := range sizes {
		t.Run(z.String(), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.llm.On(llmtest.Says("world"), llmtest.Text("日本語の文章はここにあります。幅は二倍です。\n\n| 名 | n |\n| --- | --- |\n| 東京 | 1 |\n| 👩‍💻 | 2 |\n\nשלום עולם and مرحبا\n\n👍🏽 done"))
			s := p.chat(z, "")
			s.sees("ready")
			s.asks("the world")
			s.sees("done", "ready")
			s.golden("world", z)
		})
	}
}

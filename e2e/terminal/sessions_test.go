//go:build e2e

package terminal_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestAConversationGoesOnWithWhatWasSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.knowsTheTests()
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("Do the tests pass?")
	s.sees("1 action", "ready")
	s.press("C-d")
	s.ended()

	s = p.chat(usual, "--continue")
	s.sees("Resumed “Do the tests pass?”", "▌ Do the tests pass?", "I will run them.", "$ echo ok", "They do.", "ready")
	s.press("C-o") // the action opens, with what it said
	s.sees("│ ok")
	s.asks("thanks")
	s.sees("You said: thanks")
	s.press("C-d")
	s.ended()
	if n := p.asked("Do the tests pass?"); n != 2 {
		t.Errorf("the model was asked %d times about the tests", n)
	}

	s = p.open(usual, "exec ohgw chat --conversation 0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e")
	s.sees("there is no conversation 0198c9d2", "ohgw chat --list")
	if code := s.ended(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestConversationsAreFoundRenamedAndDeleted(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	for _, title := range []string{"Fix the retry test", "Write the release notes"} {
		s.asks(title)
		s.sees("You said: "+title, "● ready")
		s.press("C-n")
		s.sees("New conversation.")
	}
	s.press("C-r")
	s.sees("Conversations", "Fix the retry test", "› Write the release notes")
	s.types("retry")
	s.sees("› Fix the retry test")
	s.misses("Write the release")
	s.press("C-e")
	s.sees("New title: Fix the retry test")
	s.types(" later")
	s.press("Enter")
	s.sees("renamed to Fix the retry test later")
	s.press("C-d")
	s.sees("Delete “Fix the retry test later” and its files?")
	s.types("y")
	s.sees("deleted Fix the retry test later")
	s.press("Escape")
	s.misses("Conversations")
	s.asks("/sessions")
	s.sees("› Write the release notes")
	s.misses("retry test later ")
	s.press("Enter")
	s.sees("Resumed “Write the release notes”", "You said: Write the release notes")
	s.asks("/resume 0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e")
	s.sees("there is no conversation 0198c9d2")
	s.press("C-u", "C-d")
	s.ended()
	if list := p.read(".local/state/ohgw/chat/recent.jsonl"); strings.Contains(list, "retry") || !strings.Contains(list, "release") {
		t.Errorf("the list has\n%s", list)
	}
}

func TestAnAnswerOfAKilledDaemonStays(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	feed := make(chan string)
	t.Cleanup(func() { close(feed) })
	p.llm.On(llmtest.Says("tell me"), llmtest.Reply{Feed: feed})
	keys := []string{"OHGW_API_KEYS=sk-terminal-0123456789"}
	url, kill := p.daemon("127.0.0.1:0", keys)
	s := p.chat(usual, "--url "+url, "OHGW_API_KEY=sk-terminal-0123456789")
	s.sees("● ready")
	s.asks("tell me")
	p.says(feed, "Twenty words that stood on the screen. ")
	s.sees("Twenty words that stood")
	kill()
	s.sees("Twenty words that stood", "reconnecting")
	addr := strings.TrimPrefix(url, "http://")
	p.daemon(addr, keys)
	s.sees("Twenty words that stood", "✗ ")
}

func TestASecondClientWaitsInTheQueue(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first, second := make(chan string), make(chan string)
	closeSecond := sync.OnceFunc(func() { close(second) })
	t.Cleanup(func() { close(first); closeSecond() })
	p.llm.On(llmtest.Says("the second"), llmtest.Reply{Feed: second}) // it is asked with all that was said before
	p.llm.On(llmtest.Says("the first"), llmtest.Reply{Feed: first})
	keys := []string{"OHGW_API_KEYS=sk-terminal-0123456789"}
	url, _ := p.daemon("127.0.0.1:0", keys)
	begin := func(args string) *screen {
		s := p.chat(usual, "--url "+url+" "+args, "OHGW_API_KEY=sk-terminal-0123456789")
		s.sees("● ready")
		return s
	}
	a := begin("")
	a.asks("hello")
	a.sees("You said: hello", "● ready")
	b := begin("--continue")
	b.sees("You said: hello")
	a.asks("the first")
	p.says(first, "One. ")
	a.sees("One.")
	b.asks("the second")
	b.sees("waiting in the queue, 1 question before this one")
	a.press("Escape")
	a.sees("stopped")
	b.misses("waiting in the queue")
	p.says(second, "Two.")
	b.sees("Two.")
	closeSecond()
	b.sees("● ready")
	if shown := b.shown(); strings.Contains(shown, "action") || strings.Contains(shown, "Waiting for") {
		t.Errorf("the wait looks like an action:\n%s", shown)
	}
}

// says lets the model write a piece of its answer.
func (p *person) says(feed chan<- string, text string) {
	p.Helper()
	select {
	case feed <- text:
	case <-time.After(patience):
		p.Fatalf("nobody asked for %q", text)
	}
}

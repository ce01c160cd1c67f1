//go:build e2e

package terminal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// newNewcomer returns a person with an empty home, no keyring and no key, who has a
// project and a scripted LLM that nothing knows of yet.
func newNewcomer(t testing.TB) *person {
	p := newPerson(t)
	p.env = slices.DeleteFunc(p.env, func(v string) bool {
		return strings.HasPrefix(v, "OPENAI_API_KEY=") || strings.HasPrefix(v, "OH_PERSISTENCE_DIR=")
	})
	p.env = append(p.env, "DBUS_SESSION_BUS_ADDRESS=unix:path="+p.home+"/none", "PS1=$ ")
	if err := os.RemoveAll(filepath.Join(p.home, "oh")); err != nil {
		t.Fatal(err)
	}
	p.write("project/hello.go", "package main\n")
	return p
}

// opens types a command into a shell in the project, and tells when the first
// key was pressed.
func (p *person) opens(command string, env ...string) (*screen, time.Time) {
	p.Helper()
	s := p.open(usual, "cd project && exec sh -i", env...)
	s.sees("$")
	began := time.Now()
	s.asks(command)
	return s, began
}

// greets is what the LLM does when it is asked for something.
func (p *person) greets() {
	p.llm.On(llmtest.Says("look around"), llmtest.Text("First token of the agent."))
}

// Nothing but a model server is there: two keys, and the agent answers.
func TestOneCommandLeadsToAnAnswerOfALocalModel(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	p.greets()
	address, _ := strings.CutSuffix(strings.TrimPrefix(p.llm.URL, "http://"), "/v1")
	s, began := p.opens("ohgw", "OLLAMA_HOST="+address)
	s.sees("Welcome to ohgw", "1  Ollama", "explains) [1]:")
	s.press("Enter")
	s.inTheChat()
	s.asks("Please look around.")
	s.sees("First token of the agent.")
	t.Logf("from the first key to the first token of the agent: %.2f s, as fast as the screen can be read", time.Since(began).Seconds())
	if got := p.read(".openhands/profiles/ollama.json"); !strings.Contains(got, "ollama_chat/test") {
		t.Errorf("the profile is %s", got)
	}
	s.press("C-d")
	s.sees("Continue later with:")
	s.asks("clear; ohgw")
	s.sees("More than this chat: ohgw serve", "ready")
}

// Nothing is there at all: a server is named, its key typed, and both are kept.
func TestOneCommandAsksForAServerAndItsKey(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	p.greets()
	p.llm.RequireKey("sk-of-the-newcomer")
	s, began := p.opens("ohgw chat")
	s.sees("Welcome to ohgw", "other")
	s.asks("other")
	s.sees("Base URL:")
	s.asks(p.llm.URL)
	s.sees("This does not work yet: 401", "What now [2]:")
	s.press("Enter")
	s.sees("Keep the key in the private file", "[Y/n]:")
	s.asks("y")
	s.sees("Key, empty for none (hidden):")
	s.asks("sk-of-the-newcomer")
	s.inTheChat()
	if shown := s.shown(); strings.Contains(shown, "sk-of") {
		t.Errorf("the key is on the screen:\n%s", shown)
	}
	s.asks("Please look around.")
	s.sees("First token of the agent.")
	t.Logf("from the first key to the first token of the agent: %.2f s, with a wrong first try", time.Since(began).Seconds())
	s.press("C-d")
	s.sees("Continue later with:")
	s.asks("clear; ohgw chat -p 'look around'")
	s.sees("First token of the agent.")
}

// The demo needs nothing.
func TestOneCommandOffersTheDemo(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	s, _ := p.opens("ohgw")
	s.sees("LLM")
	s.asks("demo")
	s.sees("The demo runs in this process")
}

// inTheChat agrees to the directory, and waits until the chat takes a question.
func (s *screen) inTheChat() {
	s.Helper()
	s.sees("work in this directory?")
	s.asks("y")
	s.sees("ready")
}

// An agent-server that was named needs no questions, and nothing is stored for it.
func TestOneCommandUsesAnAgentServer(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	server := fakeserver.New(t, fakeserver.Options{Model: func(_ context.Context, _ fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
		say("First token of the agent.")
		return fakeserver.Reply{Text: "First token of the agent."}, nil
	}})
	server.SaveProfile("claude", fakeserver.Profile{Model: "anthropic/claude"})
	server.Activate("claude")
	s, _ := p.opens("ohgw", "OHGW_BACKEND=auto", "OHGW_AGENT_SERVER_URL="+server.URL, "OLLAMA_HOST=127.0.0.1:1")
	s.inTheChat()
	s.asks("Please look around.")
	s.sees("First token of the agent.")
	if _, err := os.Stat(filepath.Join(p.home, ".openhands", "profiles")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a profile was stored: %v", err)
	}
}

// A key in the environment is offered and not stored.
func TestOneCommandOffersAKeyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	p.greets()
	p.llm.RequireKey("sk-of-the-newcomer")
	s, _ := p.opens("ohgw", "OLLAMA_HOST=127.0.0.1:1", "OPENAI_API_KEY=sk-of-the-newcomer", "OPENAI_BASE_URL="+p.llm.URL)
	s.sees("openai", "with the key in OPENAI_API_KEY")
	s.asks("openai")
	s.sees("Key: environment variable OPENAI_API_KEY", "Model: test, the only one there")
	s.inTheChat()
	s.asks("Please look around.")
	s.sees("First token of the agent.")
	if _, err := os.Stat(filepath.Join(p.home, ".local", "state", "ohgw", "keys.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was stored: %v", err)
	}
}

// A daemon that runs without a model gets one.
func TestAChatWithADaemonWithoutModelsSetsOneUp(t *testing.T) {
	t.Parallel()
	p := newNewcomer(t)
	p.greets()
	address, _ := strings.CutSuffix(strings.TrimPrefix(p.llm.URL, "http://"), "/v1")
	url, _ := p.daemon("127.0.0.1:0", []string{"OHGW_KEY_STORE=file"})
	s, _ := p.opens("ohgw chat", "OLLAMA_HOST="+address, "OHGW_KEY_STORE=file")
	s.sees("Welcome to ohgw", "explains) [1]:")
	s.press("Enter")
	s.inTheChat()
	s.sees(strings.TrimPrefix(url, "http://"))
	s.asks("Please look around.")
	s.sees("First token of the agent.")
}

//go:build e2e

package terminal_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestAnUnknownCommandIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("/modell work")
	s.sees("there is no command /modell; did you mean /model?", "› /modell work")
	s.press("C-u")
	s.asks("/usr/bin/x is a path")
	s.sees("You said: /usr/bin/x is a path")
	if n := p.asked("modell"); n != 0 {
		t.Errorf("the unknown command was sent %d times", n)
	}
}

func TestAFileIsCompletedAndTheAgentGetsItsPath(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("src/.gitignore", "*.log\n")
	p.write("src/trace.log", "")
	path := p.write("src/pkg/traffic.go", "package pkg\n")
	s := p.chat(usual, "--workspace src")
	s.sees("ready", "~/src")
	s.types("explain @tra")
	shown := s.sees("Files", "› pkg/traffic.go")
	if strings.Contains(shown, "trace.log") {
		t.Errorf("a file that git ignores is listed:\n%s", shown)
	}
	s.press("Tab")
	s.sees("› explain @pkg/traffic.go")
	s.misses("Files")
	s.press("Enter")
	s.sees("You said: explain " + path)
}

func TestACommandOfTheUserRunsInTheDirectory(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("src/here.txt", "")
	s := p.chat(usual, "--workspace src")
	s.sees("ready")
	s.asks("!ls; exit 3")
	s.sees("here.txt", "exit code 3", "+ output of $ ls; exit 3")
	s.asks("!echo running; sleep 300")
	s.sees("Ctrl+C ends it", "running")
	s.press("C-c")
	s.sees("interrupted · ")
	s.asks("what failed?")
	s.until("an answer", func(string) bool { return p.asked("here.txt") == 1 && p.asked("sleep 300") == 1 })
}

func TestAPlainChatRunsCommands(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("src/here.txt", "")
	s := p.chat(usual, "--plain --workspace src")
	s.sees("Model:")
	s.asks("!ls")
	s.sees("here.txt", "Command ended: exit code 0.")
	s.asks("read @here.txt")
	s.sees("read " + p.home + "/src/here.txt")
}

func TestActionsWaitFromTheNextMessageOn(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	run := func(command string) llmtest.Reply {
		return llmtest.Reply{Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"` + command + `"}`}}}
	}
	p.llm.On(llmtest.Says("freely"), run("echo first"), llmtest.Finish("The first is done."))
	p.llm.On(llmtest.Says("carefully"), run("echo second"), run("echo second"), run("echo third"), llmtest.Finish("All are done."))
	s := p.chat(usual, "--workspace none")
	s.sees("ready")
	s.asks("freely")
	s.sees("The first is done.", "● ready")
	s.asks("/confirm always")
	s.sees("every action waits")
	s.asks("carefully")
	s.sees("Confirm this action?", "│ $ echo second", "a always the same")
	s.press("a", "Enter")
	s.sees("accepted by your earlier answer", "│ $ echo third")
	s.press("y", "Enter")
	s.sees("All are done.", "● ready")
}

func TestASettingIsChangedAndStored(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	config := p.write("ohgw.toml", "# mine\n[chat]\ntheme = \"dark\"\n")
	s := p.chat(usual, "--workspace none", "OHGW_CONFIG="+config)
	s.sees("ready")
	s.asks("/settings")
	s.sees("Settings", "vim", "off")
	s.types("vim")
	s.press("Enter")
	s.sees("vim: on · stored")
	if got, want := p.read("ohgw.toml"), "# mine\n[chat]\nvim = true\ntheme = \"dark\"\n"; got != want {
		t.Errorf("the config file has %q, want %q", got, want)
	}
	s.types("one two")
	s.press("Escape")
	s.sees("NORMAL")
	s.types("bcwone")
	s.press("Enter")
	s.sees("You said: one one")
}

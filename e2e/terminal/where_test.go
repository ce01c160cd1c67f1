//go:build e2e

package terminal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// edits is what the LLM does when it is asked for a file, each time.
func (p *person) edits() {
	call := llmtest.Reply{Text: "I will.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"echo made >> made.txt"}`}}}
	done := llmtest.Finish("It is there.")
	p.llm.On(llmtest.Says("make a file"), call, done, call, done, call, done)
}

// project makes a directory with a git repository on a branch.
func (p *person) project(name, branch string) string {
	p.write(name+"/.git/HEAD", "ref: refs/heads/"+branch+"\n")
	return filepath.Join(p.home, name)
}

func TestAChatAsksOnceAndWorksInTheCurrentDirectory(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.edits()
	project := p.project("project", "topic")
	s := p.open(usual, "cd project && exec ohgw chat")
	s.sees("runs commands in", "Let the agent work in this directory? [y/N]")
	s.asks("y")
	s.sees("● ready", "~/project (topic)")
	s.asks("make a file")
	s.sees("It is there.", "● ready")
	if _, err := os.Stat(filepath.Join(project, "made.txt")); err != nil {
		t.Error(err)
	}
	// The branch is looked for again after each turn.
	p.project("project", "main")
	s.asks("make a file")
	s.sees("~/project (main)")

	// A second chat in the same directory asks nothing, and works beside it.
	other := p.open(usual, "cd project && exec ohgw chat")
	other.sees("● ready", "~/project (main)")
	other.asks("make a file")
	other.sees("It is there.", "● ready")
	for _, s := range []*screen{s, other} {
		s.press("C-d")
		if code := s.ended(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	if got := p.read("project/made.txt"); got != "made\nmade\nmade\n" {
		t.Errorf("the file in the project is %q", got)
	}
}

func TestAChatThatMayNotWorkHereSaysWhere(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.edits()
	s := p.open(usual, "exec ohgw chat")
	s.sees("WARNING: this is your home directory", "[y/N]")
	s.asks("n")
	s.sees("● ready", "a new, empty directory", "a new directory, not ~")
	s.asks("make a file")
	s.sees("It is there.", "● ready", "a new directory, not ~")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.sees("The agent's files are in", "they are removed")
	if _, err := os.Stat(filepath.Join(p.home, "made.txt")); err == nil {
		t.Error("the agent worked in the home directory")
	}
}

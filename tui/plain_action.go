package tui

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// called writes an action when it begins, and how it went. What an answer that
// begins again repeats is not written again.
func (p *sheet) called(line func(string), a transcript.Action) {
	once := func(key string, lines ...string) {
		if p.told[key] {
			return
		}
		if p.told == nil {
			p.told = make(map[string]bool)
		}
		p.told[key] = true
		for _, l := range lines {
			line(l)
		}
	}
	once(a.ID, "Working: "+a.Line)
	if a.State != transcript.Running {
		once(a.ID+" ended", result(a)...)
	}
}

// result writes how an action went: a word for it first, then the facts.
func result(a transcript.Action) []string {
	var facts []string
	if a.ExitCode != nil {
		facts = append(facts, "exit code "+strconv.Itoa(*a.ExitCode))
	}
	if a.Added+a.Removed > 0 || a.DiffCut > 0 {
		facts = append(facts, human.Count(a.Added, "line")+" added", human.Count(a.Removed, "line")+" removed")
	}
	if a.Took != "" {
		facts = append(facts, a.Took)
	}
	tell := func(word string) string { return word + ": " + strings.Join(append(facts, a.Line), ", ") }
	switch a.State {
	case transcript.Failed:
		lines := []string{tell("Failed")}
		if why := lastLine(a.Output); why != "" {
			lines = append(lines, "Last line of its output: "+why)
		}
		return lines
	case transcript.Rejected:
		return []string{tell("Rejected")}
	case transcript.Interrupted:
		return []string{tell("Interrupted")}
	case transcript.Waiting:
		return nil // the question follows
	case transcript.Running, transcript.Done:
	}
	if len(a.Tasks) == 0 {
		lines := []string{tell("Finished")}
		if a.Picture != nil {
			lines = append(lines, "Picture: "+a.Picture.About+", in the file "+safe.Line(a.Picture.Path))
		}
		return lines
	}
	lines := []string{"Plan: " + human.Count(len(a.Tasks), "task")}
	for _, t := range a.Tasks {
		lines = append(lines, strings.ReplaceAll(t.Status, "_", " ")+": "+t.Title)
	}
	return lines
}

// refused writes what the sandbox refused, and how it can be allowed.
func (p *sheet) refused(line func(string), b *session.Block) {
	said := "Sandbox: refused " + b.Access + " " + b.Target
	if b.Why != "" {
		said += ", " + b.Why
	}
	said += "."
	if c := b.Command(); c != "" {
		said += " To allow it: " + c
	}
	line(said)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

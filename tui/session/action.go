package session

import (
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
	"github.com/ohgw/ohgw/tui/wrap"
)

var states = map[string]transcript.State{
	"running": transcript.Running, "done": transcript.Done, "failed": transcript.Failed,
	"rejected": transcript.Rejected, "interrupted": transcript.Interrupted, "waiting": transcript.Waiting,
}

var kinds = map[string]transcript.Kind{
	"command": transcript.Command, "edit": transcript.Edit, "read": transcript.Read, "tasks": transcript.Plan, "think": transcript.Think,
}

// ActionOf converts an action for views: harmless, each name in one line.
func ActionOf(c gateway.Call) transcript.Action {
	a := transcript.Action{
		ID: c.ID, State: states[c.State], Kind: kinds[c.Kind], Tool: name(c.Tool), Line: name(c.Line), Input: bounded(c.Input),
		ExitCode: c.ExitCode, Output: bounded(c.Output), OutputCut: max(0, c.OutputCut), Path: name(c.Path),
		Diff: bounded(c.Diff), DiffCut: max(0, c.DiffCut), Added: max(0, c.Added), Removed: max(0, c.Removed),
	}
	if a.Line == "" {
		a.Line = a.Tool
	}
	if c.Seconds != nil && *c.Seconds >= 0 && *c.Seconds < 1e6 {
		a.Took = human.Precise(time.Duration(*c.Seconds * float64(time.Second)))
	}
	a.Picture = pictureOf(c.Picture)
	for _, t := range c.Tasks[:min(len(c.Tasks), maxTasks)] {
		a.Tasks = append(a.Tasks, transcript.Task{Title: name(t.Title), Notes: name(t.Notes), Status: name(t.Status)})
	}
	return a
}

// pictureOf describes the picture of an action in one line.
func pictureOf(p *gateway.Picture) *transcript.Picture {
	if p == nil || p.Path == "" {
		return nil
	}
	about := "screenshot"
	if p.Width > 0 && p.Height > 0 {
		about += ", " + strconv.Itoa(p.Width) + "×" + strconv.Itoa(p.Height)
	}
	if p.Bytes > 0 {
		about += ", " + human.Size(p.Bytes)
	}
	return &transcript.Picture{Path: p.Path, About: about}
}

// What is kept of an action. A gateway of ours sends less.
const (
	maxBytes = 256 << 10
	maxLines = 4000
	maxTasks = 500
)

// bounded is a harmless text of at most maxBytes and maxLines.
func bounded(s string) string {
	s = safe.Text(s[:min(len(s), maxBytes)])
	lines := 0
	for i := range len(s) {
		if s[i] == '\n' {
			if lines++; lines == maxLines {
				return s[:i]
			}
		}
	}
	return s
}

func name(s string) string { return wrap.Cut(safe.Line(s[:min(len(s), 8*maxProgress)]), maxProgress) }

// called takes in an action, or its result. One of an earlier answer waited for a
// confirmation there. dir is the directory of the conversation, or "".
func (t *Turn) called(log *transcript.List, dir string, c gateway.Call) {
	act := ActionOf(c)
	if dir != "" && (act.Kind == transcript.Edit || act.Kind == transcript.Read) {
		act.Line = strings.Replace(act.Line, " "+safe.Line(dir)+"/", " ", 1)
	}
	defer t.caughtUp()
	if t.again != nil {
		t.again.answer.Act(act)
		return
	}
	if !t.Answer.Has(act.ID) {
		for _, m := range log.Messages() {
			if a, ok := m.(*transcript.Answer); ok && a != t.Answer && a.Has(act.ID) {
				a.Act(act)
				return
			}
		}
	}
	t.Answer.Act(act)
}

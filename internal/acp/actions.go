package acp

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
)

// toolKinds are the kinds of actions in the protocol's words.
var toolKinds = map[string]string{
	"command": "execute", "edit": "edit", "read": "read", "tasks": "think", "think": "think",
}

// callStates are the states of actions in the protocol's words.
var callStates = map[string]string{
	"running": statusRunning, "waiting": statusPending, "done": statusCompleted,
	"failed": statusFailed, "rejected": statusFailed, "interrupted": statusFailed,
}

// call tells the editor about an action that begins or has its result. One that
// it knows already, after a lost connection, is left out.
func (t *turn) call(c gateway.Call) error {
	before, known := t.calls[c.ID]
	if known && (before.State == c.State || finished(before)) {
		return nil
	}
	if c.Input == "" {
		c.Input = before.Input
	}
	t.calls[c.ID] = c
	u := describe(c, t.s.dir)
	u.Kind = "tool_call"
	if known {
		u.Kind = "tool_call_update"
		u.RawInput = nil // the editor has it
	}
	if err := t.update(u); err != nil || len(c.Tasks) == 0 {
		return err
	}
	return t.update(newPlan(c.Tasks))
}

// finished reports whether an action has its result.
func finished(c gateway.Call) bool { return c.State != "running" && c.State != "waiting" }

// describe converts an action to the form that the editor shows.
func describe(c gateway.Call, dir string) toolCall {
	u := toolCall{ID: c.ID, Title: title(c), Name: c.Tool, ToolKind: toolKinds[c.Kind], Status: callStates[c.State]}
	if u.ToolKind == "" {
		u.ToolKind = "other"
	}
	if c.Path != "" {
		path := c.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		u.Locations = []location{{Path: path}}
	}
	if c.Input != "" {
		u.RawInput = map[string]any{"input": c.Input}
	}
	if !finished(c) {
		return u
	}
	u.RawOutput = map[string]any{}
	if c.ExitCode != nil {
		u.RawOutput["exit_code"] = *c.ExitCode
	}
	if c.Seconds != nil {
		u.RawOutput["seconds"] = *c.Seconds
	}
	u.Content = result(c, u.Locations)
	return u
}

// title is an action in one line. Editors mark commands themselves.
func title(c gateway.Call) string {
	line := strings.TrimSpace(c.Line)
	if c.Kind == "command" {
		line = strings.TrimPrefix(line, "$ ")
	}
	if line == "" {
		return c.Tool
	}
	return line
}

// result lists what came of an action: the edit, or the output.
func result(c gateway.Call, at []location) []toolContent {
	var all []toolContent
	if c.Diff != "" && len(at) > 0 {
		all = diffs(at[0].Path, c.Diff)
	}
	var notes []string
	if c.DiffCut > 0 {
		notes = append(notes, strconv.Itoa(c.DiffCut)+" more changed lines are not shown.")
	}
	if output := strings.Trim(c.Output, "\n"); output != "" && len(all) == 0 {
		all = append(all, textContent(fenced(output)))
	}
	if c.OutputCut > 0 {
		notes = append(notes, strconv.Itoa(c.OutputCut)+" bytes of the output are not shown.")
	}
	switch {
	case c.State == "rejected":
		notes = append(notes, "Rejected.")
	case c.State == "interrupted":
		notes = append(notes, "Interrupted.")
	case c.ExitCode != nil && *c.ExitCode != 0:
		notes = append(notes, "Exit code "+strconv.Itoa(*c.ExitCode)+".")
	}
	if len(notes) > 0 {
		all = append(all, textContent(strings.Join(notes, " ")))
	}
	return all
}

func textContent(text string) toolContent {
	return toolContent{Type: "content", Content: &block{Type: "text", Text: text}}
}

// fenced is a text as it stands, in Markdown.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// diffs splits a unified patch without a header into its hunks: the two sides of
// each.
func diffs(path, patch string) []toolContent {
	var all []toolContent
	var before, after strings.Builder
	created, open := false, false
	end := func() {
		if open {
			c := toolContent{Type: "diff", Path: path, NewText: new(after.String())}
			if !created {
				c.OldText = new(before.String())
			}
			all = append(all, c)
		}
		before.Reset()
		after.Reset()
		open = false
	}
	for line := range strings.Lines(patch) {
		text := strings.TrimSuffix(line, "\n") + "\n"
		switch text[0] {
		case '@':
			end()
			open, created = true, strings.HasPrefix(text, "@@ -0,0 ")
		case '-':
			before.WriteString(text[1:])
		case '+':
			after.WriteString(text[1:])
		case ' ', '\n':
			before.WriteString(strings.TrimPrefix(text, " "))
			after.WriteString(strings.TrimPrefix(text, " "))
		}
	}
	end()
	return all
}

// newPlan converts the agent's task list.
func newPlan(tasks []gateway.Task) plan {
	p := plan{Kind: "plan", Entries: []planEntry{}}
	for _, task := range tasks {
		e := planEntry{Content: task.Title, Priority: "medium", Status: "pending"}
		switch task.Status {
		case "in_progress":
			e.Status = "in_progress"
		case "done":
			e.Status = "completed"
		}
		if task.Notes != "" {
			e.Content += ": " + task.Notes
		}
		p.Entries = append(p.Entries, e)
	}
	return p
}

// progress tells the editor about an action of which only a line is known, by a
// gateway that does not describe them.
func (t *turn) progress(line string) error {
	t.actions++
	if t.actions <= t.skip {
		return nil
	}
	c := gateway.Call{ID: t.key + "-" + strconv.Itoa(t.actions), State: "done", Kind: "other", Line: line}
	if strings.HasPrefix(line, "$ ") {
		c.Kind = "command"
	}
	u := describe(c, t.s.dir)
	u.Kind = "tool_call"
	return t.update(u)
}

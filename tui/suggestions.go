package tui

import (
	"github.com/ohgw/ohgw/tui/wrap"
)

// suggestions are the commands that the input may become.
func suggestions(l looks, found []slashCommand, width, height int) []string {
	names := 0
	for _, c := range found {
		names = max(names, len(c.name)+1+len(c.args))
	}
	lines := []string{rule(l.accent, paint(l.strong, "Commands")+paint(l.faint, "  Tab completes"), width)}
	for _, c := range found[:min(len(found), max(height-1, 0))] {
		left := wrap.Pad(c.name+" "+c.args, names)
		lines = append(lines, "  "+paint(l.accent, wrap.Cut(left, width-2))+paint(l.faint, wrap.Cut("  "+c.what, max(width-names-2, 0))))
	}
	return lines
}

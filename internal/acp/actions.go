package acp

import (
	"strconv"
	"strings"
)

// progress tells the editor about an action of which only a line is known.
func (t *turn) progress(line string) error {
	t.actions++
	if t.actions <= t.skip {
		return nil
	}
	kind := "other"
	if strings.HasPrefix(line, "$ ") {
		kind = "execute"
	}
	return t.update(toolCall{
		Kind: "tool_call", ID: t.key + "-" + strconv.Itoa(t.actions), Title: line, ToolKind: kind, Status: statusCompleted,
	})
}

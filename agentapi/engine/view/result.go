package view

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Result takes apart what a model is shown of the result of a call: what the tool has said,
// and whether it has failed, or was not run.
func Result(content []event.Content) (said []event.Content, failed bool) {
	if len(content) == 0 || content[0].Type != event.TypeText {
		return content, false
	}
	switch first := content[0].Text; {
	case first == failedHeader:
		return content[1:], true
	case strings.HasPrefix(first, rejectedText):
		return content, true
	}
	return content, false
}

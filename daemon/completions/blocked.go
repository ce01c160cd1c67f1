package completions

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
)

// maxBlocked bounds what an answer says of refusals, in bytes: it has to fit into a
// frame.
const maxBlocked = 16 << 10

// encodeBlocks are refusals, each as JSON in one line.
func encodeBlocks(blocks []agentapi.Block) (all []json.RawMessage) {
	size := 0
	for _, b := range blocks {
		line := openai.OneLine(b)
		if size += len(line) + 1; size > maxBlocked {
			break
		}
		all = append(all, line)
	}
	return all
}

// TellBlocked adds to the notice what the sandbox refused and how to allow it. An
// answer that has a form has no place for it: only the header and the extension
// tell.
func (e Ending) TellBlocked() Ending {
	if e.form || e.Problem != nil {
		return e
	}
	e.notice = strings.Trim(e.notice+"\n\n"+blockedNotice(e.blocked), "\n")
	return e
}

// maxListed is how many refusals a notice lists.
const maxListed = 10

// blockedNotice lists what the sandbox refused and the commands that allow it; empty
// if there is nothing that can be allowed.
func blockedNotice(blocks []agentapi.Block) string {
	var b strings.Builder
	n := 0
	for _, block := range blocks {
		command := block.Command()
		if command == "" {
			continue
		}
		if n++; n <= maxListed {
			b.WriteString("\n- " + codeSpan(command))
		}
	}
	if n == 0 {
		return ""
	}
	if n > maxListed {
		b.WriteString("\n- and " + strconv.Itoa(n-maxListed) + " more")
	}
	return "The sandbox refused some of what the agent wanted. If it should be allowed, run:\n" + b.String()
}

// codeSpan is text as code in Markdown, whatever backquotes it has.
func codeSpan(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Package foreign reads calls of tools that a model was to make in the field for them,
// and wrote into its text: local servers leave what their parser does not know.
//
// A call is read only where it is meant as one: it is the end of the answer, begins a
// line, names a tool that is offered, and its arguments are an object. What is quoted
// is text: in a code block or inline code, in a block quote, in quotation marks, in an
// element of HTML for code. If one of several calls cannot be read, or stands within a
// line, all are text.
package foreign

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// Call is a call that was found.
type Call struct {
	Name      string
	Arguments string // a JSON object
}

// Find gives the calls at the end of an answer and the text before them. Without a call
// before is the whole text.
func Find(text string, tools []wire.Tool) (before string, calls []Call) {
	answer := trimEnd(text)
	p := parser{tools: tools}
	if calls := p.bare(afterThoughts(answer)); calls != nil {
		return "", calls
	}
	for at := 0; at < len(answer); at = nextLine(answer, at) {
		begin := at + len(answer[at:]) - len(strings.TrimLeft(answer[at:], " "))
		const indented = 4 // is code in Markdown
		if begin-at >= indented || !opens(answer[begin:]) || quoted(answer[:at]) {
			continue
		}
		if mentions(answer[:at]) {
			return text, nil
		}
		if calls := p.all(answer[begin:]); calls != nil {
			return strings.TrimRight(answer[:at], " \t\r\n"), calls
		}
	}
	return text, nil
}

// ends are tokens that some servers leave behind an answer.
func ends() []string {
	return []string{"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<｜end▁of▁sentence｜>", "<|end|>", "<|endoftext|>", "<|END_OF_TURN_TOKEN|>", "<end_of_turn>"}
}

func trimEnd(s string) string {
	for {
		trimmed := strings.TrimRight(s, " \t\r\n")
		for _, end := range ends() {
			trimmed = strings.TrimSuffix(trimmed, end)
		}
		if trimmed == s {
			return s
		}
		s = trimmed
	}
}

// afterThoughts is what stands behind the thoughts of a model, which some servers leave
// in the text without their beginning.
func afterThoughts(s string) string {
	if _, rest, found := strings.Cut(s, "</think>"); found {
		s = rest
	}
	return strings.TrimLeft(s, "\r\n")
}

// mentions reports whether a text has the mark of a call that is not one: an item of a
// list, say, or a sentence about calls. A call behind it may be the rest of that.
func mentions(before string) bool {
	said := afterThoughts(before)
	return slices.ContainsFunc(forms(), func(f form) bool { return strings.Contains(said, f.open) })
}

func nextLine(s string, at int) int {
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s)
}

// quoted reports whether what follows a text is quoted by it: a fence, an element or a
// quotation mark is open.
func quoted(before string) bool {
	if inFence(before) || inElement(strings.ToLower(before)) {
		return true
	}
	marks := strings.Count(before, `"`)%2 + strings.Count(before, "`")%2
	for _, pair := range [][2]string{{"“", "”"}, {"«", "»"}, {"「", "」"}, {"‹", "›"}} {
		marks += max(0, strings.Count(before, pair[0])-strings.Count(before, pair[1]))
	}
	last := strings.TrimSpace(before)
	return marks > 0 || strings.HasSuffix(last, "'") || strings.HasSuffix(last, "„") || strings.HasSuffix(last, "»")
}

// inFence reports whether a fence is open. Only a line of the same marks, at least as
// many and with nothing behind them, closes one.
func inFence(before string) bool {
	fence := ""
	for line := range strings.Lines(before) {
		line = strings.TrimLeft(strings.TrimSpace(line), "> ")
		for _, mark := range []string{"`", "~"} {
			marks := line[:len(line)-len(strings.TrimLeft(line, mark))]
			const least = 3
			switch {
			case len(marks) < least:
			case fence == "":
				fence = marks
			case marks == line && strings.HasPrefix(marks, fence):
				fence = ""
			}
		}
	}
	return fence != ""
}

// inElement reports whether an element of HTML or of thoughts is open, in lower case. An
// end without a beginning closes nothing that comes behind it.
func inElement(before string) bool {
	for _, element := range []string{"pre", "code", "blockquote", "q", "think", "example", "textarea", "samp", "kbd"} {
		open := 0
		for rest := before; ; {
			at := strings.IndexByte(rest, '<')
			if at < 0 {
				break
			}
			rest = rest[at+1:]
			switch {
			case strings.HasPrefix(rest, element+">"), strings.HasPrefix(rest, element+" "):
				open++
			case strings.HasPrefix(rest, "/"+element+">"):
				open = max(0, open-1)
			}
		}
		if open > 0 {
			return true
		}
	}
	return strings.LastIndex(before, "<!--") > strings.LastIndex(before, "-->") || strings.LastIndex(before, "<![cdata[") > strings.LastIndex(before, "]]>")
}

// object reads the arguments of a call: an object, or a text that has one.
func object(raw json.RawMessage) (string, bool) {
	var text string
	for range 2 { // some are a text in a text
		if json.Unmarshal(raw, &text) != nil {
			break
		}
		raw = json.RawMessage(text)
	}
	args := strings.TrimSpace(string(raw))
	if args == "" || args == "null" {
		return "{}", true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &members) != nil {
		return "", false
	}
	return args, true
}

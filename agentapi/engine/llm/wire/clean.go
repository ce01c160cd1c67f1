package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
)

// This file repairs what a provider wrote and no provider takes back. A history is
// sent with every call, so one such text would make all later calls fail. The
// same is done once more with what is sent: a log may be older, or of OpenHands.

// unnamed is the name of a call that came without one.
const unnamed = "unnamed"

// maxName is how long the name of a tool may be.
const maxName = 64

var notInName = pattern.Of(`[^a-zA-Z0-9_-]`)

// CleanName is the name of a called tool as all providers take it. What is
// stored keeps the name that the model wrote: its tool is found by that.
func CleanName(name string) string {
	name = notInName().ReplaceAllString(named(name), "_")
	return name[:min(len(name), maxName)]
}

func named(name string) string {
	if strings.TrimSpace(name) == "" {
		return unnamed
	}
	return CleanText(name)
}

// CleanText is a text in valid UTF-8 without NUL, which servers that keep
// histories in a database refuse.
func CleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// CleanJSON cleans the text of JSON like CleanText, also with regard to escapes: no
// half of a surrogate pair, and no NUL, which neither a command nor a path nor a text
// file can have. The text may be damaged JSON.
func CleanJSON(s string) string {
	s = CleanText(s)
	if !strings.Contains(s, `\u`) {
		return s
	}
	var b strings.Builder
	for at := strings.IndexByte(s, '\\'); at >= 0; at = strings.IndexByte(s, '\\') {
		b.WriteString(s[:at])
		s = s[at:]
		n := escape(s)
		if spoilt(s[:n]) {
			b.WriteString(`\ufffd`)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

// The lengths of escapes: a character by its number, and a pair of such.
const (
	escapeLen = len(`\u0000`)
	pairLen   = 2 * escapeLen
)

// escape is how long the escape at the beginning of s is.
func escape(s string) int {
	first, ok := unit(s)
	switch {
	case !ok:
		return min(2, len(s)) // also of a character of several bytes, which is put together again
	case !isHigh(first):
		return escapeLen
	}
	if second, ok := unit(s[escapeLen:]); ok && isLow(second) {
		return pairLen
	}
	return escapeLen
}

// spoilt reports whether an escape is half a pair, or NUL.
func spoilt(s string) bool {
	u, ok := unit(s)
	return ok && len(s) == escapeLen && (u == 0 || isHigh(u) || isLow(u))
}

func isHigh(u uint16) bool { return u >= 0xd800 && u < 0xdc00 }

func isLow(u uint16) bool { return u >= 0xdc00 && u < 0xe000 }

// unit reads the number in the escape at the beginning of s.
func unit(s string) (u uint16, ok bool) {
	if len(s) < escapeLen || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:escapeLen]) {
		u <<= 4
		switch {
		case c >= '0' && c <= '9':
			u |= uint16(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			u |= uint16(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return u, true
}

// cleanRaw is a JSON value that goes back as it came but for what is not JSON to
// everybody.
func cleanRaw(raw json.RawMessage) json.RawMessage {
	if clean := CleanJSON(string(raw)); clean != string(raw) {
		return json.RawMessage(clean)
	}
	return raw
}

// Clean repairs the texts, calls and ids of a message. It changes no slice that
// the message has.
func Clean(m *event.LLMMessage) {
	if slices.ContainsFunc(m.Content, func(c event.Content) bool { return CleanText(c.Text) != c.Text }) {
		m.Content = cleaned(m.Content, func(c *event.Content) { c.Text = CleanText(c.Text) })
	}
	m.ReasoningContent = CleanText(m.ReasoningContent)
	m.ThinkingBlocks = cleaned(m.ThinkingBlocks, func(raw *json.RawMessage) { *raw = cleanRaw(*raw) })
	if m.ResponsesReasoningItem != nil {
		m.ResponsesReasoningItem = cleanRaw(m.ResponsesReasoningItem)
	}
	m.ToolCallID = CleanText(m.ToolCallID)
	if m.Role == "tool" || m.Name != "" {
		m.Name = named(m.Name)
	}
	m.ToolCalls = cleaned(m.ToolCalls, func(tc *event.ToolCall) {
		tc.ID, tc.ResponsesItemID = CleanText(tc.ID), CleanText(tc.ResponsesItemID)
		tc.Name, tc.Arguments = named(tc.Name), CleanJSON(tc.Arguments)
	})
}

func cleaned[T any](list []T, clean func(*T)) []T {
	if len(list) == 0 {
		return list
	}
	out := append(make([]T, 0, len(list)), list...)
	for i := range out {
		clean(&out[i])
	}
	return out
}

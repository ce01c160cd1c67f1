package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/truncate"
)

// What is kept of an output: so many bytes for its JSON, so many characters of it in
// an event.
const (
	maxKept = 1 << 20
	maxText = 50_000
	cutMark = "\n<TRUNCATED>"
)

// spoken is the JSON that a hook may print. The members on their own are OpenHands', with
// updatedInput beside them; hookSpecificOutput is how hooks of Claude Code say the same.
type spoken struct {
	Decision any             `json:"decision"`
	Reason   any             `json:"reason"`
	Context  any             `json:"additionalContext"`
	Continue json.RawMessage `json:"continue"`
	Input    json.RawMessage `json:"updatedInput"`
	Specific json.RawMessage `json:"hookSpecificOutput"`
}

// specific is what hookSpecificOutput holds.
type specific struct {
	Decision any             `json:"permissionDecision"`
	Reason   any             `json:"permissionDecisionReason"`
	Context  any             `json:"additionalContext"`
	Input    json.RawMessage `json:"updatedInput"`
}

// answer reads the JSON that a hook may print. Anything else is only output.
func (r *Result) answer(data []byte) {
	var said spoken
	if json.Unmarshal(data, &said) != nil {
		return
	}
	var other specific
	_ = json.Unmarshal(said.Specific, &other) // where it is another value, only the rest counts
	r.Reason, r.Context = cmp.Or(words(said.Reason), words(other.Reason)), cmp.Or(words(said.Context), words(other.Context))
	if denies(said.Decision) || denies(other.Decision) || no(said.Continue) {
		r.Blocked = true
	}
	for _, input := range []json.RawMessage{said.Input, other.Input} {
		if r.Success && r.input == nil && len(input) > 0 && string(input) != "null" {
			r.input = input
		}
	}
}

// denies reports whether a decision refuses.
func denies(decision any) bool {
	word, ok := decision.(string)
	return ok && strings.EqualFold(word, "deny")
}

// no reports whether a value that is there counts as false, as Python has it.
func no(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "false", "null", "0", "0.0", `""`, "[]", "{}":
		return true
	}
	return false
}

// unread is what is wrong with an output that begins as JSON and is too long to be read; ""
// for every other one.
func unread(out *bounded.Head) string {
	data := out.Bytes()
	if len(data) < maxKept || !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) || json.Valid(data) {
		return ""
	}
	return fmt.Sprintf("its answer has more than %d bytes, of which the decision was not read", maxKept)
}

// words is a text in a hook's JSON, or another value as text.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return fitting(v)
	}
	return fitting(fmt.Sprint(v))
}

// fitting is as much of a text as an event has.
func fitting(s string) string { return truncate.Within(s, maxText, cutMark) }

// told returns an output as far as an event has it.
func told(out *bounded.Head) string {
	return fitting(strings.ToValidUTF8(string(out.Bytes()), "\uFFFD"))
}

package textcall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Error is a call that breaks the rules of its tool. Its text is for the
// model.
type Error struct{ Msg string }

// Error is the sentence for the model.
func (e *Error) Error() string { return e.Msg }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

type mode int

const (
	inText  mode = iota // before a call
	inName              // behind <function=
	inBody              // between parameters
	inTag               // behind <parameter=
	inValue             // in a value
	over                // behind the call
)

// Reader splits an answer into text and a call while it is written. What it
// hands on, put together, is what Finish returns. It is not safe for
// concurrent use.
type Reader struct {
	tools []wire.Tool
	emit  func(wire.Delta)

	mode    mode
	half    string          // the beginning of a character
	pending string          // not decided yet
	held    strings.Builder // of a value, before pending: read, and not handed on yet
	stopped bool            // the stop word is in held
	text    strings.Builder
	call    event.ToolCall
	args    strings.Builder

	known  bool // the tool is one of ours
	schema schema
	given  []string // parameters so far
	param  string
	prop   schema
	live   bool // the value is handed on as it comes
	begun  bool // ... and a piece of it was
	err    error
}

// NewReader makes a reader of one answer. id is the id of its call. emit may
// be nil.
func NewReader(tools []wire.Tool, id string, emit func(wire.Delta)) *Reader {
	return &Reader{tools: tools, emit: emit, call: event.ToolCall{ID: id, Origin: "completion"}}
}

// Write takes the next piece of the answer.
func (r *Reader) Write(piece string) {
	piece = r.half + piece
	end := len(piece) - halfCharacter(piece)
	r.half = piece[end:]
	r.pending += piece[:end]
	for r.step() {
	}
}

// halfCharacter is the length of the beginning of a character at the end of s.
func halfCharacter(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Text is the text so far that was handed on, without a call.
func (r *Reader) Text() string { return r.text.String() }

// Finish ends the answer. call is nil if there is none; the error is an
// [*Error] for a call that cannot be made. cut says that the answer ended at
// the output limit: a call that is not complete is refused then, not repaired.
func (r *Reader) Finish(cut bool) (text string, call *event.ToolCall, err error) {
	r.pending += strings.ToValidUTF8(r.half, string(utf8.RuneError))
	if r.mode == inText {
		// What was held back in case it led to a call.
		r.emitText(strings.TrimRight(r.pending, " \t\r\n"))
		return r.text.String(), nil, nil
	}
	if r.err == nil && r.mode != over {
		r.close(cut)
	}
	if r.err == nil {
		r.err = r.missing()
	}
	if r.err != nil {
		return r.text.String(), nil, r.err
	}
	r.put("}")
	r.call.Arguments = r.args.String()
	return r.text.String(), &r.call, nil
}

// close repairs a call whose end is missing: a server removes the stop word,
// and some models forget it.
func (r *Reader) close(cut bool) {
	if cut {
		r.err = wrong("The call was not complete when the answer reached its length limit, and did not run. Make it shorter, or do it in steps.")
		return
	}
	if r.mode == inName {
		r.name(strings.TrimRight(r.pending, "</ \n"))
		return
	}
	if r.mode == inValue {
		value, _, stopped := strings.Cut(r.release()+r.pending, Stop)
		value = strings.TrimRight(value, " \n")
		if !stopped {
			value = strings.TrimSuffix(value, "</") // what a server left of the stop word
		}
		r.value(strings.TrimSuffix(strings.TrimRight(value, " "), "\n"), true)
	}
}

// step takes what can be decided of the pending text; false when more is
// needed first.
func (r *Reader) step() bool {
	if r.err != nil {
		r.mode = over
	}
	switch r.mode {
	case inText:
		return r.stepText()
	case inName:
		name, rest, found := strings.Cut(r.pending, ">")
		if found {
			r.pending = rest
			r.name(name)
		}
		return found
	case inBody:
		return r.stepBody()
	case inTag:
		return r.stepTag()
	case inValue:
		return r.stepValue()
	case over:
		r.pending = ""
	}
	return false
}

func (r *Reader) stepText() bool {
	before, rest, found := strings.Cut(r.pending, functionOpen)
	if found {
		r.emitText(trimLead(before))
		r.pending, r.mode = rest, inName
		return true
	}
	keep := len(trimLead(before[:len(before)-partial(before, functionOpen, thinkClose, callOpen)]))
	r.emitText(before[:keep])
	r.pending = before[keep:]
	return false
}

// trimLead removes what models put between their text and a call.
func trimLead(s string) string {
	for {
		trimmed := strings.TrimRight(s, " \t\r\n")
		trimmed = strings.TrimSuffix(strings.TrimSuffix(trimmed, callOpen), thinkClose)
		if trimmed == s {
			return s
		}
		s = trimmed
	}
}

// partial is the length of the longest end of s that is the beginning of one
// of the tags, and not all of it.
func partial(s string, tags ...string) int {
	longest := 0
	for _, tag := range tags {
		for n := min(len(tag)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, tag[:n]) {
				longest = n
			}
		}
	}
	return longest
}

func (r *Reader) emitText(s string) {
	if r.text.Len() == 0 {
		s = strings.TrimLeft(s, " \t\r\n")
	}
	if s == "" {
		return
	}
	r.text.WriteString(s)
	if r.emit != nil {
		r.emit(wire.Delta{Text: s})
	}
}

// name records the name of the called tool, looks up its schema, and emits the call.
func (r *Reader) name(name string) {
	r.call.Name = strings.TrimSpace(name)
	r.mode = inBody
	i := slices.IndexFunc(r.tools, func(t wire.Tool) bool { return t.Name == r.call.Name })
	if i >= 0 {
		r.known, r.schema = true, parseSchema(r.tools[i].Parameters)
	}
	if r.emit != nil {
		r.emit(wire.Delta{Call: &wire.CallDelta{ID: r.call.ID, Name: r.call.Name}})
	}
	r.put("{")
}

func (r *Reader) stepBody() bool {
	param := strings.Index(r.pending, parameterOpen)
	end := strings.Index(r.pending, Stop)
	switch {
	case param >= 0 && (end < 0 || param < end):
		r.pending, r.mode = r.pending[param+len(parameterOpen):], inTag
		return true
	case end >= 0:
		r.pending, r.mode = "", over
		return false
	}
	r.pending = r.pending[len(r.pending)-partial(r.pending, parameterOpen, Stop):]
	return false
}

// stepTag reads the name of a parameter. <parameter=name=value</parameter> is
// a slip that some models make.
func (r *Reader) stepTag() bool {
	i := strings.IndexAny(r.pending, "=>")
	if i < 0 {
		return false
	}
	name := strings.TrimSpace(r.pending[:i])
	r.pending = r.pending[i+1:]
	r.mode, r.param, r.prop = inValue, name, schema{}
	if raw, has := r.schema.Properties[name]; has {
		r.prop = parseSchema(raw)
	} else if r.known && len(r.schema.Properties) > 0 {
		r.err = wrong("The tool %q has no parameter %q. It has: %s.", r.call.Name, name, strings.Join(r.schema.order, ", "))
		return false
	}
	r.live = r.prop.kind() == "string" && len(r.prop.Enum) == 0
	r.begun, r.stopped = false, false
	return true
}

// stepValue looks at each byte of a value once, however it comes in pieces.
func (r *Reader) stepValue() bool {
	value, rest, found := strings.Cut(r.pending, parameterClose)
	if found {
		r.pending, r.mode = rest, inBody
		r.value(strings.TrimSuffix(r.release()+value, "\n"), true)
		return true
	}
	r.stopped = r.stopped || strings.Contains(value, Stop)
	value = value[:len(value)-partial(value, parameterClose, Stop)]
	r.pending = r.pending[len(value):]
	hold := value // how it ends decides
	if r.live && !r.stopped {
		// White space at the end may be the end, of a value that is not closed too.
		keep := strings.TrimRight(value, " \n")
		if keep != "" {
			r.value(r.release()+keep, false)
		}
		hold = value[len(keep):]
	}
	r.held.WriteString(hold)
	return false
}

// release gives what was held.
func (r *Reader) release() string {
	held := r.held.String()
	r.held.Reset()
	return held
}

// value takes a piece of a value, or all of it.
func (r *Reader) value(piece string, end bool) {
	if !r.begun {
		piece = strings.TrimPrefix(piece, "\n")
		r.key()
	}
	if !r.live {
		raw, err := r.typed(piece)
		if err != nil {
			r.err = err
			return
		}
		r.put(string(raw))
		return
	}
	if !r.begun {
		r.put(`"`)
	}
	r.begun = true
	quoted := string(text(piece))
	r.put(quoted[1 : len(quoted)-1])
	if end {
		r.put(`"`)
	}
}

// key begins a member of the arguments.
func (r *Reader) key() {
	if len(r.given) > 0 {
		r.put(",")
	}
	r.given = append(r.given, r.param)
	r.put(string(text(r.param)) + ":")
}

// typed reads a value of another type than text, as JSON, and refuses one that does
// not fit the schema.
func (r *Reader) typed(value string) (json.RawMessage, error) {
	value = strings.TrimSpace(value)
	kind := r.prop.kind()
	raw := json.RawMessage(value)
	ok := json.Valid(raw)
	switch kind {
	case "string":
		raw, ok = text(value), true
	case "integer":
		_, err := strconv.ParseInt(value, 10, 64)
		ok = err == nil
	case "number":
		_, err := strconv.ParseFloat(value, 64)
		ok = ok && err == nil
	case "boolean":
		raw = json.RawMessage(strings.ToLower(value))
		ok = string(raw) == "true" || string(raw) == "false"
	case "array":
		ok = ok && strings.HasPrefix(value, "[")
	case "object":
		ok = ok && strings.HasPrefix(value, "{")
	}
	if !ok {
		return nil, wrong("The parameter %q of %q must be of type %s.", r.param, r.call.Name, kind)
	}
	// The engine decides about the risk: it knows whether one is asked for.
	if allowed := r.prop.enum(); len(allowed) > 0 && r.param != risk && !slices.Contains(allowed, value) {
		return nil, wrong("The parameter %q of %q must be one of: %s.", r.param, r.call.Name, strings.Join(allowed, ", "))
	}
	return raw, nil
}

// risk is a parameter that is checked elsewhere.
const risk = "security_risk"

func (r *Reader) missing() error {
	var names []string
	for _, name := range r.schema.Required {
		if name != risk && !slices.Contains(r.given, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return wrong("The call of %q lacks what it needs: %s.", r.call.Name, strings.Join(names, ", "))
}

func (r *Reader) put(s string) {
	r.args.WriteString(s)
	if r.emit != nil && s != "" {
		r.emit(wire.Delta{Call: &wire.CallDelta{Arguments: s}})
	}
}

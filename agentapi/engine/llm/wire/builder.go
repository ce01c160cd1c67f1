package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/repetition"
	"github.com/ohgw/ohgw/agentapi/event"
)

// ErrCut is an answer that ended before its end mark. It is never a whole one.
var ErrCut = errors.New("the answer was cut off")

// ErrTooLong is an answer without end.
var ErrTooLong = errors.New("the answer is too long")

// Repetition is an answer that was stopped because it repeats itself.
type Repetition struct{ Unit int } // characters that come again and again

// Error is the reason.
func (r *Repetition) Error() string {
	return fmt.Sprintf("the model repeats the same %d characters", r.Unit)
}

// maxAnswer bounds an answer, in bytes. The longest output of any model is a
// tenth of it.
const maxAnswer = 8 << 20

// Finish is why an answer ended.
type Finish string

// The reasons; the empty Finish is an answer without one.
const (
	Stop     Finish = "stop"
	Length   Finish = "length"   // at the output limit
	Full     Finish = "full"     // at the end of the context window
	Filtered Finish = "filtered" // the provider held it back
	Failed   Finish = "failed"   // the provider gave up half way
)

// Delta is a piece of an answer. One field is set.
type Delta struct {
	Text      string
	Reasoning string
	Call      *CallDelta
	Prompt    *PromptDelta
}

// PromptDelta is how much of the prompt was read before the answer.
type PromptDelta struct {
	Tokens int64 // of the prompt
	Cached int64 // of them, known from an earlier call
	Read   int64 // so far, with those
}

// Timings are what a call took, as its server has measured.
type Timings struct {
	Read, Written             int64 // tokens
	ReadSeconds, WriteSeconds float64
}

// CallDelta is a piece of a tool call.
type CallDelta struct {
	Index     int
	ID, Name  string // in the first piece
	Arguments string
}

// Builder puts an answer together while it is read. Its fields are what the
// provider said beside the answer itself.
type Builder struct {
	ID     string
	Model  string
	Usage  event.TokenUsage
	Cost   float64 // US dollars, if the answer says so
	Finish Finish
	// Ended says that the end mark was read.
	Ended bool
	// Begun says that there is an answer, if only an empty one.
	Begun bool
	// Timings are the server's own, or zero.
	Timings Timings
	// StopRepetition ends an answer that repeats itself: Err is a [*Repetition] then, and
	// what comes behind is dropped.
	StopRepetition bool
	// Item is a reasoning item of the Responses API, in OpenHands' form.
	Item json.RawMessage
	// ItemIDs are ids of calls as items, by index of the call.
	ItemIDs map[int]string

	emit      func(Delta)
	newID     func() string
	size      int
	repeated  *Repetition
	watches   struct{ text, reasoning, args repetition.Watch }
	text      strings.Builder
	reasoning strings.Builder
	thinking  []json.RawMessage
	open      *block
	calls     []*call
	slots     map[int]*call
	unclaimed []signature // of calls that have not come yet
	spoken    spoken
}

// signature is that of the call with an id.
type signature struct{ id, value string }

// Thinking is a block of signed thinking, or of data that only the provider
// can read.
type Thinking struct {
	Text, Signature string
	Redacted        string
}

// block is one of thinking that is being read.
type block struct{ text, signature, redacted strings.Builder }

type call struct {
	index     int
	id, name  string
	made      bool // the id is ours
	signature string
	args      strings.Builder
}

// Separator stands in the id of a call before the signature of the thought
// behind it, which Gemini wants back. LiteLLM keeps it there too: OpenHands'
// events have no other place.
const Separator = "__thought__"

// NewBuilder makes a builder that hands on each piece; emit may be nil. newID
// makes ids for calls that come without one.
func NewBuilder(emit func(Delta), newID func() string) *Builder {
	return &Builder{emit: emit, newID: newID, slots: make(map[int]*call)}
}

// NewID is an id for a call.
func (b *Builder) NewID() string { return b.newID() }

// Text adds to the text of the answer.
func (b *Builder) Text(s string) {
	if s == "" {
		return
	}
	b.Begun = true
	if s = b.watch(&b.watches.text, s); s == "" {
		return
	}
	b.grow(s)
	b.text.WriteString(s)
	b.send(Delta{Text: s})
}

// Reasoning adds to what the model thought, as far as it shows it.
func (b *Builder) Reasoning(s string) {
	if s == "" {
		return
	}
	b.Begun = true
	if s = b.watch(&b.watches.reasoning, s); s == "" {
		return
	}
	b.grow(s)
	b.reasoning.WriteString(s)
	b.send(Delta{Reasoning: s})
}

// Prompt sends how much of the prompt was read. That does not belong to the answer.
func (b *Builder) Prompt(d PromptDelta) { b.send(Delta{Prompt: &d}) }

// Thinking adds a piece of a thinking block. A signature ends the block;
// redacted data are a block of their own. Nothing is handed on: the text comes
// by Reasoning.
func (b *Builder) Thinking(t Thinking) {
	b.Begun = true
	b.grow(t.Text + t.Signature + t.Redacted)
	if t.Redacted != "" {
		b.CloseThinking()
	}
	if b.open == nil {
		b.open = &block{}
	}
	b.open.text.WriteString(t.Text)
	b.open.signature.WriteString(t.Signature)
	b.open.redacted.WriteString(t.Redacted)
	if t.Redacted != "" {
		b.CloseThinking()
	}
}

// CloseThinking ends the block that is open, if any. One without a signature
// is dropped: no provider takes it back.
func (b *Builder) CloseThinking() {
	if b.open == nil {
		return
	}
	t := Thinking{Text: b.open.text.String(), Signature: b.open.signature.String(), Redacted: b.open.redacted.String()}
	b.open = nil
	if t.Signature == "" && t.Redacted == "" {
		return
	}
	var block any = struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{"thinking", t.Text, t.Signature}
	if t.Redacted != "" {
		block = struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{"redacted_thinking", t.Redacted}
	}
	if raw, err := Marshal(block); err == nil {
		b.thinking = append(b.thinking, raw)
	}
}

// Call adds a piece of the tool call that the provider counts as slot. Some
// count all their calls as the first one: another id there is another call, and
// so are other arguments behind ones that are whole. Whole arguments that come
// again are the same call.
func (b *Builder) Call(slot int, id, name, args string) {
	b.Begun = true
	args = b.watch(&b.watches.args, args)
	if b.repeated != nil {
		return
	}
	b.grow(id + name + args)
	c := b.slots[slot]
	d := CallDelta{Arguments: args}
	again := c != nil && name != "" && strings.HasPrefix(args, "{") && c.whole()
	if again && name == c.name && args == c.args.String() && (id == "" || id == c.id) {
		return
	}
	if c == nil || again || c.isOther(id, name) {
		c = b.begin(slot, id)
		d.ID = c.id
	}
	if c.name == "" {
		c.name, d.Name = name, name // some repeat it with every piece
	}
	c.args.WriteString(args)
	if d != (CallDelta{}) {
		d.Index = c.index
		b.send(Delta{Call: &d})
	}
}

// begin begins a call at a slot. Without an id it is given one.
func (b *Builder) begin(slot int, id string) *call {
	c := &call{index: len(b.calls), id: id}
	if id == "" {
		c.id, c.made = b.newID(), true
	}
	b.watches.args = repetition.Watch{Code: true}
	b.slots[slot] = c
	b.calls = append(b.calls, c)
	return c
}

// isOther reports whether a piece with an id and a name is of another call.
func (c *call) isOther(id, name string) bool {
	return id != "" && id != c.id && (!c.made || name != "")
}

// whole reports whether the arguments of a call are a JSON object.
func (c *call) whole() bool {
	args := c.args.String()
	return strings.HasSuffix(args, "}") && json.Valid([]byte(args))
}

// SetArguments replaces the arguments of a call by what the provider says they
// are in the end, if that adds to what it streamed.
func (b *Builder) SetArguments(slot int, args string) {
	c := b.slots[slot]
	if c == nil {
		return
	}
	if rest, more := strings.CutPrefix(args, c.args.String()); more && rest != "" {
		b.Call(slot, "", "", rest)
	}
}

// Sign keeps the signature of the call with that id, which may come later. One
// that is of no call is the first call's.
func (b *Builder) Sign(id, value string) {
	b.grow(value)
	b.unclaimed = append(b.unclaimed, signature{id, value})
}

// SignSlot keeps the signature of the call that the provider counts as slot.
func (b *Builder) SignSlot(slot int, value string) {
	if c := b.slots[slot]; c != nil && c.signature == "" {
		b.grow(value)
		c.signature = value
	}
}

// claim gives the signatures that came by id to their calls.
func (b *Builder) claim() {
	for _, s := range b.unclaimed {
		to := -1
		for i, c := range b.calls {
			if c.id == s.id {
				to = i
			}
		}
		if to < 0 && len(b.calls) > 0 {
			to = 0
		}
		if to >= 0 && b.calls[to].signature == "" {
			b.calls[to].signature = s.value
		}
	}
	b.unclaimed = nil
}

// Calls is the number of calls so far.
func (b *Builder) Calls() int { return len(b.calls) }

// Err returns ErrTooLong once the answer is longer than any model writes, and the
// error of an answer that repeats itself.
func (b *Builder) Err() error {
	if b.repeated != nil {
		return b.repeated
	}
	if b.size > maxAnswer {
		return ErrTooLong
	}
	return nil
}

// Message builds the answer as a message. It closes what is still open.
func (b *Builder) Message() event.LLMMessage {
	b.closeSpoken()
	b.CloseThinking()
	b.claim()
	m := event.LLMMessage{
		Role: "assistant", Content: []event.Content{}, ThinkingBlocks: []json.RawMessage{},
		ReasoningContent: b.reasoning.String(), ResponsesReasoningItem: b.Item,
	}
	if b.text.Len() > 0 {
		m.Content = append(m.Content, event.Text(b.text.String()))
	}
	m.ThinkingBlocks = append(m.ThinkingBlocks, b.thinking...)
	for _, c := range b.calls {
		if c.signature != "" && !strings.Contains(c.id, Separator) {
			c.id += Separator + c.signature
		}
		tc := event.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String(), Origin: "completion"}
		if strings.TrimSpace(tc.Arguments) == "" {
			tc.Arguments = "{}"
		}
		if b.ItemIDs != nil {
			tc.Origin, tc.ResponsesItemID = "responses", b.ItemIDs[c.index]
		}
		m.ToolCalls = append(m.ToolCalls, tc)
	}
	Clean(&m)
	return m
}

// Empty says that the answer has neither text nor calls.
func (b *Builder) Empty() bool { return b.text.Len() == 0 && len(b.calls) == 0 && b.spoken.held == "" }

// watch gives what of a piece is taken: all of it, unless the answer repeats itself.
func (b *Builder) watch(w *repetition.Watch, s string) string {
	if !b.StopRepetition || s == "" {
		return s
	}
	if b.repeated != nil {
		return ""
	}
	end, unit := w.Write(s)
	if unit > 0 {
		b.repeated = &Repetition{Unit: unit}
	}
	return s[:end]
}

func (b *Builder) grow(s string) { b.size += len(s) }

func (b *Builder) send(d Delta) {
	if b.emit != nil {
		b.emit(d)
	}
}

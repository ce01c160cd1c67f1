// Package draft makes what watchers see of an answer while a model writes it: the text, the
// reasoning and the message of a finish call, without the values of secrets.
package draft

import (
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/finishstream"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Draft makes the deltas that are published out of what the model writes:
// its text, its reasoning and the message of a finish call, with blank lines
// between what stands alone.
type Draft struct {
	Emit   func(event.Delta)
	Again  func() // called in front of another attempt; may be nil
	said   bool   // some text was published
	parted bool   // a blank line is due before the next piece
	finish finishReader
}

const gap = "\n\n"

// Add takes what the model writes next.
func (l *Draft) Add(d llm.Delta) {
	switch {
	case d.Restart:
		if l.Again != nil {
			l.Again()
		}
		l.parted, l.finish = true, finishReader{}
	case d.Reasoning != "":
		l.Emit(event.Delta{ReasoningContent: &d.Reasoning})
	case d.Text != "":
		l.text(d.Text)
	case d.ToolCall != nil:
		if piece, first := l.finish.add(*d.ToolCall); piece != "" {
			l.parted = l.parted || first
			l.text(piece)
		}
	}
}

func (l *Draft) text(s string) {
	if l.parted && l.said {
		s = gap + s
	}
	l.parted, l.said = false, true
	l.Emit(event.Delta{Content: &s})
}

// finishReader reads the message of the answer's finish call.
type finishReader struct {
	reading bool
	index   int // of the call
	said    bool
	decoder finishstream.Decoder
}

// add takes a piece of a tool call and gives what it adds to the message, and
// whether that is its beginning.
func (f *finishReader) add(d llm.ToolDelta) (piece string, first bool) {
	if d.Name == finishstream.Tool && !f.reading {
		f.reading, f.index = true, d.Index
	}
	if !f.reading || d.Index != f.index {
		return "", false
	}
	piece = f.decoder.Write(d.Arguments)
	first = piece != "" && !f.said
	f.said = f.said || first
	return piece, first
}

// Masked masks what a model writes while it writes it. What could be the
// beginning of a value waits for what follows, or for [Masked.Flush].
type Masked struct {
	text, reasoning *secretenv.Masker
	say             func(event.Delta)
}

// NewMasked hands to say what is left of the deltas.
func NewMasked(secrets *secretenv.Registry, say func(event.Delta)) *Masked {
	return &Masked{text: secrets.Masker(), reasoning: secrets.Masker(), say: say}
}

// Add takes a delta.
func (l *Masked) Add(d event.Delta) {
	if d.ReasoningContent != nil {
		l.emitPiece(l.reasoning.Write([]byte(*d.ReasoningContent)), true)
	}
	if d.Content != nil {
		l.emitPiece(l.text.Write([]byte(*d.Content)), false)
	}
}

// Flush says what still waits.
func (l *Masked) Flush() {
	l.emitPiece(l.reasoning.Flush(), true)
	l.emitPiece(l.text.Flush(), false)
}

func (l *Masked) emitPiece(piece []byte, reasoning bool) {
	if len(piece) == 0 {
		return
	}
	text := string(piece)
	if reasoning {
		l.say(event.Delta{ReasoningContent: &text})
	} else {
		l.say(event.Delta{Content: &text})
	}
}

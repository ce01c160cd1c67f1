package conversation

import (
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/finishstream"
	"github.com/ohgw/ohgw/agentapi/event"
)

// draft makes the deltas that are published out of what the model writes:
// its text, its reasoning and the message of a finish call, with blank lines
// between what stands alone.
type draft struct {
	emit   func(event.Delta)
	again  func() // called in front of another attempt; may be nil
	said   bool   // some text was published
	parted bool   // a blank line is due before the next piece
	finish finishReader
}

const gap = "\n\n"

func (l *draft) add(d llm.Delta) {
	switch {
	case d.Restart:
		if l.again != nil {
			l.again()
		}
		l.parted, l.finish = true, finishReader{}
	case d.Reasoning != "":
		l.emit(event.Delta{ReasoningContent: &d.Reasoning})
	case d.Text != "":
		l.text(d.Text)
	case d.ToolCall != nil:
		if piece, first := l.finish.add(*d.ToolCall); piece != "" {
			l.parted = l.parted || first
			l.text(piece)
		}
	}
}

func (l *draft) text(s string) {
	if l.parted && l.said {
		s = gap + s
	}
	l.parted, l.said = false, true
	l.emit(event.Delta{Content: &s})
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

package chats

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openai"
)

// maxQuote bounds what the agent is told of the chat, in bytes.
const maxQuote = 64 << 10

// note is what a conversation that goes on must be told before the message.
type note struct {
	turns []Turn // what the conversation has, once it was told

	wentBack bool    // the user went back to this point
	unknown  []Round // messages that the conversation does not have
	changed  []Round // answers that read differently in the chat
	stopped  *Round  // the last answer, if the user stopped it
}

// note compares the history with the turns that the conversation has by now.
func (v *Visit) note(turns []Turn) note {
	n := note{turns: turns}
	if len(v.history) == 0 {
		return n
	}
	// Which conversation it is was decided before: no proof is needed.
	p := Reconcile(v.history, [][]Turn{turns}, Rules{})
	if p.Branch < 0 || p.Kind == Quoted || p.Kind == New {
		if len(turns) == 0 {
			n.unknown, n.turns = v.history, asTold(v.history)
		}
		return n
	}
	n.turns = slices.Clone(turns)
	first := p.Keep - (p.Rest - p.From)
	for i, e := range v.history[p.From:p.Rest] {
		n.compare(&n.turns[first+i], e, p.From+i == len(v.history)-1 && first+i == len(turns)-1)
	}
	front, rest := v.history[:p.From], v.history[p.Rest:]
	n.unknown = slices.Concat(front, rest)
	if len(front) > 0 {
		n.turns = slices.Concat(asTold(front), n.turns[first:])
	}
	n.turns = append(n.turns, asTold(rest)...)
	return n
}

// compare notes where the answer of a round differs from those of its turn. last:
// it is the last round of the chat and the last turn of the conversation.
func (n *note) compare(t *Turn, e Round, last bool) {
	if t.shows(e.Answer) {
		return
	}
	if last && t.Stopped {
		n.stopped = &e
	} else if e.Answer != "" {
		n.changed = append(n.changed, e)
	}
	if e.Answer != "" {
		t.Answers = append(slices.Clone(t.Answers), e.Answer)
	}
}

// text writes the note as the agent reads it; empty if there is nothing to say.
func (n note) text(req Request) string {
	var b strings.Builder
	if n.wentBack {
		b.WriteString("The user went back to this point of the chat: what followed was taken back. Files are as it left them.\n\n")
	}
	if n.stopped != nil {
		if n.stopped.Answer == "" {
			b.WriteString("The user stopped your last answer before any of it was shown.\n\n")
		} else {
			b.WriteString("The user stopped your last answer. This much of it was shown:\n\n")
			b.WriteString(openai.Quotation(answers(req.History, *n.stopped), maxQuote/4) + "\n")
		}
	}
	if !req.NoQuotes {
		if len(n.changed) > 0 {
			b.WriteString("In the chat, earlier answers of yours read differently by now:\n\n")
			var turns []openai.Turn
			for _, e := range n.changed {
				turns = append(turns, answers(req.History, e)...)
			}
			b.WriteString(openai.Quotation(turns, maxQuote/4) + "\n")
		}
		if len(n.unknown) > 0 {
			var turns []openai.Turn
			for _, e := range n.unknown {
				turns = append(turns, req.History[e.At:e.End]...)
			}
			b.WriteString(newToYou(turns))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteString(theMessage)
	return b.String()
}

// theMessage goes before the message of the user where something else was said
// before it.
const theMessage = "The new message of the user:\n\n"

// newToYou quotes messages of the chat that a conversation does not have.
func newToYou(turns []openai.Turn) string {
	return "The chat shows these messages, which are new to you:\n\n" + openai.Quotation(turns, maxQuote/2) + "\n"
}

// News tells a conversation, before the message of the user, what it does not have
// of its chat; empty where it has all.
func News(turns []openai.Turn) string {
	if len(turns) == 0 {
		return ""
	}
	return newToYou(turns) + theMessage
}

// answers are the messages of the assistant in a round.
func answers(history []openai.Turn, e Round) []openai.Turn {
	var turns []openai.Turn
	for _, t := range history[e.At:e.End] {
		if t.Role == "assistant" {
			turns = append(turns, t)
		}
	}
	return turns
}

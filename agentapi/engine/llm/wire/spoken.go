package wire

import "strings"

// The marks round what local servers and some gateways leave of a model's
// thoughts in its text.
const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// spoken is where a text is that may begin with thoughts.
type spoken struct {
	state spokenState
	held  string // what may be the beginning of a mark
}

type spokenState int

const (
	undecided spokenState = iota
	inThoughts
	behindThoughts // spaces behind the mark belong to it
	inText
)

// Spoken adds to the text of the answer. Thoughts in marks at its very
// beginning are reasoning.
func (b *Builder) Spoken(s string) {
	if s == "" {
		return
	}
	b.Begun = true
	s, b.spoken.held = b.spoken.held+s, ""
	for s != "" {
		switch b.spoken.state {
		case undecided:
			switch begun := strings.TrimLeft(s, " \n\r\t"); {
			case strings.HasPrefix(begun, thinkBegin):
				b.spoken.state, s = inThoughts, begun[len(thinkBegin):]
			case strings.HasPrefix(thinkBegin, begun):
				b.spoken.held = s
				return
			default:
				b.spoken.state = inText
			}
		case inThoughts:
			thought, rest, ended := strings.Cut(s, thinkEnd)
			if !ended {
				n := len(s) - partOf(s, thinkEnd)
				b.Reasoning(s[:n])
				b.spoken.held = s[n:]
				return
			}
			b.Reasoning(thought)
			b.spoken.state, s = behindThoughts, rest
		case behindThoughts:
			if s = strings.TrimLeft(s, " \n\r\t"); s != "" {
				b.spoken.state = inText
			}
		case inText:
			b.Text(s)
			return
		}
	}
}

// partOf is how many bytes at the end of s are the beginning of mark.
func partOf(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(s, mark[:n]) {
			return n
		}
	}
	return 0
}

// closeSpoken hands on what was held back.
func (b *Builder) closeSpoken() {
	held := b.spoken.held
	b.spoken.held = ""
	switch b.spoken.state {
	case inThoughts:
		b.Reasoning(held)
	case undecided, behindThoughts, inText:
		b.Text(held)
	}
}

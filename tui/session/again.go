package session

import (
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// again is an answer that comes once more from its beginning: after a lost
// connection, or because the same question is asked again. What stands on the
// screen stays until there is as much of the new one, or all there is. An answer
// that breaks off before that changes nothing.
type again struct {
	answer *transcript.Answer
	bytes  int // of its text
	stood  int // bytes of text on the screen
}

// restart lets the answer begin again.
func (t *Turn) restart() {
	t.again = &again{answer: &transcript.Answer{}, stood: len(t.Answer.Source())}
	t.clean = safe.Cleaner{}
	t.caughtUp()
}

// writing is the answer that grows.
func (t *Turn) writing() *transcript.Answer {
	if t.again != nil {
		return t.again.answer
	}
	return t.Answer
}

// text adds a piece of the answer.
func (t *Turn) text(s string) {
	t.writing().Text(s)
	if t.again != nil {
		t.again.bytes += len(s)
		t.caughtUp()
	}
}

// caughtUp puts the new answer on the screen once it has as much as the old one.
func (t *Turn) caughtUp() {
	if a := t.again; a != nil && a.bytes >= a.stood && a.answer.Actions() >= t.Answer.Actions() {
		t.replace()
	}
}

// replace puts the new answer on the screen, if there is one.
func (t *Turn) replace() {
	if t.again != nil {
		t.Answer.Become(t.again.answer)
		t.again = nil
	}
}

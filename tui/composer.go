package tui

import (
	"slices"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// composer is where a question is written. The arrow keys go through the
// questions before it; a letter that is typed alone may be a key.
type composer struct {
	editor.Editor
	history []string
	recall  int          // index into history; len(history) is the draft
	kept    editor.Draft // the draft, while history is shown
	letter  letter
}

// letter is a key that may be an action or the beginning of a word.
type letter struct {
	text  string
	as    string // the letter at its position, if that is not the text
	do    action
	guess bool // do decides something, and as is not sure
	n     int  // how many there were
}

// written is all that an arrow key changes in a composer.
type written struct {
	text, kept editor.Draft
	recall     int
}

// typed writes what a key gives.
func (c *composer) typed(text string) {
	c.recall = len(c.history)
	c.Type(safe.Text(text))
}

// pasted writes a text from the clipboard.
func (c *composer) pasted(text string) {
	c.recall = len(c.history)
	c.Paste(text)
}

// replace writes text in the place of all there is.
func (c *composer) replace(text string) {
	c.Clear()
	c.Paste(text)
}

// hold keeps a letter back until it is clear what it is, and numbers it.
func (c *composer) hold(l letter) int {
	l.n = c.letter.n + 1
	c.letter = l
	return c.letter.n
}

// release returns the letter that is held back.
func (c *composer) release() letter {
	l := c.letter
	c.letter.text = ""
	return l
}

// recalls reports whether a question of the history is shown.
func (c *composer) recalls() bool { return c.recall < len(c.history) }

// holds reports whether a letter is held back.
func (c *composer) holds() bool { return c.letter.text != "" }

// giveBack writes questions before what is written.
func (c *composer) giveBack(texts []string) {
	for _, text := range slices.Backward(texts) {
		rest := c.Draft()
		c.replace(text)
		if !rest.Empty() {
			c.Type("\n")
			c.Append(rest)
		}
	}
}

// sent keeps a text for the arrow keys.
func (c *composer) sent(text string) {
	if n := len(c.history); n == 0 || c.history[n-1] != text {
		c.history = append(c.history, text)
	}
	c.recall = len(c.history)
}

// move moves the cursor up or down; from the first and the last line, through
// the history.
func (c *composer) move(do action) {
	if do == earlier {
		if !c.Up() {
			c.older()
		}
		return
	}
	if !c.Down() {
		c.newer()
	}
}

func (c *composer) older() {
	if c.recall == 0 {
		return
	}
	if c.recall >= len(c.history) {
		if !c.kept.Empty() && !c.Empty() {
			c.sent(c.Value()) // A changed old question; the draft is kept already.
		} else if c.kept.Empty() {
			c.kept = c.Draft()
		}
		c.recall = len(c.history)
	}
	c.recall--
	c.Set(c.history[c.recall])
}

func (c *composer) newer() {
	if c.recall >= len(c.history) {
		return
	}
	c.recall++
	if c.recall == len(c.history) {
		c.restoreDraft()
		return
	}
	c.Set(c.history[c.recall])
}

// restoreDraft puts what was written before the history was shown back.
func (c *composer) restoreDraft() {
	c.Restore(c.kept)
	c.kept = editor.Draft{}
}

func (c *composer) written() written { return written{c.Draft(), c.kept, c.recall} }

func (c *composer) undo(w written) {
	c.Restore(w.text)
	c.kept, c.recall = w.kept, w.recall
}

// edits are what keys change in the text or where they move in it.
var edits = map[action]func(*editor.Editor){
	newline:       func(e *editor.Editor) { e.Type("\n") },
	moveLeft:      (*editor.Editor).Left,
	moveRight:     (*editor.Editor).Right,
	moveWordLeft:  (*editor.Editor).WordLeft,
	moveWordRight: (*editor.Editor).WordRight,
	moveHome:      (*editor.Editor).Home,
	moveEnd:       (*editor.Editor).End,
	eraseBack:     (*editor.Editor).Backspace,
	eraseNext:     (*editor.Editor).Delete,
	eraseWord:     (*editor.Editor).DeleteWord,
	eraseBegin:    (*editor.Editor).DeleteToBegin,
	eraseEnd:      (*editor.Editor).DeleteToEnd,
}

// edit does what a key changes, and reports whether it changes anything.
func (c *composer) edit(do action) bool {
	change, ok := edits[do]
	if ok {
		change(&c.Editor)
	}
	return ok
}

// view draws at most height lines, with a placeholder while nothing is written,
// and where the cursor is.
func (c *composer) view(l looks, width, height int, placeholder string) (lines []string, y, x int) {
	c.SetWidth(width - len("> ") - 1)
	lines, y, x = c.View(height)
	x += 2
	for i, line := range lines {
		if i == 0 {
			lines[i] = paint(l.accent, "› ") + line
		} else {
			lines[i] = "  " + line
		}
	}
	switch {
	case c.holds():
		lines[0] += c.letter.text
		x += wrap.Width(c.letter.text)
		if c.letter.as != "" {
			lines[0] += paint(l.faint, " ("+c.letter.as+")")
		}
	case c.Empty():
		lines[0] += paint(l.faint, wrap.Cut(placeholder, width-3))
	}
	return lines, y, x
}

package terminal

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxLine bounds what is kept of a line that does not end. What is longer is
// passed on and cannot be written over any more.
const maxLine = 64 << 10

// cleaner turns what programs write to a terminal into text: the escape
// sequences are gone, a line that was written over and over is there once, as
// it was last. It is not a screen: a program that draws one gives its pieces one
// below the other.
type cleaner struct {
	emit func([]byte)

	line   []byte // the line as it stands, in whole characters
	cursor int    // where in it the next character goes, a byte offset
	shown  int    // how much of it was emitted already

	partial []byte // the beginning of a character whose end has not come yet

	state  state
	params []byte // of the control sequence that is being read

	ready []byte // text that is about to be emitted
}

// state is where in an escape sequence the reader is.
type state int

const (
	ground   state = iota
	escape         // after ESC
	sequence       // after ESC [
	text           // inside a string that the program sends to the terminal
	textEnd        // after ESC in such a string
	skipOne        // one more byte belongs to the sequence
)

const maxParams = 64

// write takes a piece of output, cut anywhere.
func (c *cleaner) write(p []byte) {
	defer c.send()
	for len(p) > 0 {
		if c.state == ground {
			n := textLength(p)
			c.put(p[:n])
			if p = p[n:]; len(p) == 0 {
				return
			}
		}
		c.step(p[0])
		p = p[1:]
	}
}

// textLength is how many bytes at the start of p are text.
func textLength(p []byte) int {
	for i, b := range p {
		if b < 0x20 && b != '\t' || b == 0x7f {
			return i
		}
	}
	return len(p)
}

// send emits what is ready, in one piece.
func (c *cleaner) send() {
	if len(c.ready) == 0 {
		return
	}
	if utf8.Valid(c.ready) {
		c.emit(c.ready)
	} else {
		c.emit(bytes.ToValidUTF8(c.ready, []byte("\uFFFD")))
	}
	c.ready = c.ready[:0]
}

// settle emits the line that is not finished, for a reader who wants the output now.
func (c *cleaner) settle() {
	defer c.send()
	c.flush(len(c.line))
	c.shown = max(c.shown, len(c.line))
}

// finish emits what is left and forgets it: the next output has nothing to do
// with it.
func (c *cleaner) finish() {
	c.complete()
	c.flush(len(c.line))
	c.send()
	c.line, c.cursor, c.shown, c.state, c.params = c.line[:0], 0, 0, ground, nil
}

// flush makes the line up to there ready.
func (c *cleaner) flush(end int) {
	if end > c.shown {
		c.ready = append(c.ready, c.line[c.shown:end]...)
	}
}

func (c *cleaner) newline() {
	c.line = append(c.line, '\n')
	c.flush(len(c.line))
	c.line, c.cursor, c.shown = c.line[:0], 0, 0
}

// put writes text at the cursor, except for the beginning of a character at
// its end.
func (c *cleaner) put(p []byte) {
	if len(c.partial) > 0 && len(p) > 0 {
		p = append(c.partial, p...)
		c.partial = nil
	}
	if n := incomplete(p); n > 0 {
		c.partial = bytes.Clone(p[len(p)-n:])
		p = p[:len(p)-n]
	}
	c.place(p)
}

// incomplete is how many bytes at the end of p begin a character.
func incomplete(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// complete writes a character that will not be completed.
func (c *cleaner) complete() {
	p := c.partial
	c.partial = nil
	c.place(p)
}

func (c *cleaner) place(p []byte) {
	if len(p) == 0 {
		return
	}
	if c.cursor < len(c.line) {
		c.overwrite(p)
	} else {
		c.line = append(c.line, p...)
		c.cursor = len(c.line)
	}
	if c.cursor == len(c.line) && len(c.line) > maxLine {
		c.settle()
		c.line, c.cursor, c.shown = c.line[:0], 0, 0
	}
}

// overwrite replaces as many characters as p has.
func (c *cleaner) overwrite(p []byte) {
	c.rewrite()
	end := c.cursor
	for rest := p; len(rest) > 0 && end < len(c.line); {
		_, n := utf8.DecodeRune(rest)
		_, m := utf8.DecodeRune(c.line[end:])
		rest, end = rest[n:], end+m
	}
	tail := bytes.Clone(c.line[end:])
	c.line = append(append(c.line[:c.cursor], p...), tail...)
	c.cursor += len(p)
}

// rewrite says that the line is about to change where it was shown: all of it
// is shown again.
func (c *cleaner) rewrite() {
	if c.cursor < c.shown {
		c.shown = 0
	}
}

func (c *cleaner) step(b byte) {
	switch c.state {
	case ground:
		c.complete()
		c.control(b)
	case escape:
		c.escaped(b)
	case sequence:
		if b >= 0x40 && b <= 0x7e {
			c.state = ground
			c.perform(b)
		} else if len(c.params) < maxParams {
			c.params = append(c.params, b)
		}
	case text:
		switch b {
		case 0x07:
			c.state = ground
		case 0x1b:
			c.state = textEnd
		case '\n':
			// No program does that: it is binary data, and the rest is output.
			c.state = ground
			c.control(b)
		}
	case textEnd:
		c.state = ground
		if b != '\\' {
			c.escaped(b)
		}
	case skipOne:
		c.state = ground
	}
}

func (c *cleaner) control(b byte) {
	switch b {
	case '\n', 0x0b, 0x0c:
		c.cursor = len(c.line)
		c.newline()
	case '\r':
		c.cursor = 0
	case '\b':
		if c.cursor > 0 {
			_, n := utf8.DecodeLastRune(c.line[:c.cursor])
			c.cursor -= n
		}
	case 0x1b:
		c.state = escape
	}
}

func (c *cleaner) escaped(b byte) {
	c.state = ground
	switch b {
	case '[':
		c.state, c.params = sequence, c.params[:0]
	case ']', 'P', 'X', '^', '_':
		c.state = text
	case '(', ')', '*', '+', '#', '%', ' ':
		c.state = skipOne
	case 'D', 'E', 'M':
		c.fresh()
	case 0x1b:
		c.state = escape
	}
}

// fresh begins a new line for text that goes to another place of the screen.
func (c *cleaner) fresh() {
	if len(c.line) > 0 {
		c.newline()
	}
}

// perform does what a control sequence says, as far as a line knows it.
func (c *cleaner) perform(final byte) {
	n, err := strconv.Atoi(string(c.params))
	if err != nil || n < 0 {
		n = 0
	}
	switch final {
	case 'K':
		switch n {
		case 0:
			c.rewrite()
			c.line = c.line[:c.cursor]
		case 2:
			c.rewrite()
			c.line, c.cursor = c.line[:0], 0
		}
	case 'G', '`':
		c.column(max(n, 1) - 1)
	case 'C':
		c.column(utf8.RuneCount(c.line[:c.cursor]) + max(n, 1))
	case 'D':
		c.column(max(0, utf8.RuneCount(c.line[:c.cursor])-max(n, 1)))
	case 'P':
		c.rewrite()
		end := c.cursor
		for range min(max(n, 1), len(c.line)) {
			_, m := utf8.DecodeRune(c.line[end:])
			end += m
		}
		c.line = append(c.line[:c.cursor], c.line[end:]...)
	case 'A', 'B', 'E', 'F', 'H', 'f', 'd', 'J', 'L', 'M', 'S', 'T':
		if final == 'J' && n == 0 {
			c.rewrite()
			c.line = c.line[:c.cursor]
			return
		}
		c.fresh()
	}
}

// maxColumn bounds how far a line is filled up with blanks.
const maxColumn = 1000

// column moves the cursor, filling the line up to there.
func (c *cleaner) column(n int) {
	at := 0
	for ; n > 0 && at < len(c.line); n-- {
		_, size := utf8.DecodeRune(c.line[at:])
		at += size
	}
	if n > 0 {
		blanks := bytes.Repeat([]byte(" "), min(n, maxColumn))
		c.line = append(c.line, blanks...)
		at = len(c.line)
	}
	c.cursor = at
}

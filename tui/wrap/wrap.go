// Package wrap measures text in terminal cells and breaks it into lines.
//
// Terminals disagree about the width of joined emoji and of some symbols. What
// is measured here is never less than what any of them takes, so that a line
// may end early and never runs over. The text has been through package safe;
// it holds no control characters but line feeds and tabs.
package wrap

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// tab is what a tab is shown as.
const tab = "    "

// Span is a piece of text in one look.
type Span struct {
	Text string
	SGR  string // the escape sequence that begins the look, or ""
	Link string // an address behind the text, or ""
}

// First returns the first character of s as people count them, and its width.
func First(s string) (string, int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return c, max(w, ansi.StringWidthWc(c))
}

// Width is how many cells s takes in one line.
func Width(s string) int {
	n := 0
	for s != "" {
		c, w := First(s)
		n += w
		s = s[len(c):]
	}
	return n
}

// Cut shortens s to at most width cells; what is cut ends with an ellipsis.
func Cut(s string, width int) string {
	n, end := 0, 0 // The cells so far, and where s is cut if it is too wide.
	for at := 0; at < len(s); {
		c, w := First(s[at:])
		if n += w; n > width {
			if width <= 0 {
				return ""
			}
			return s[:end] + "…"
		}
		at += len(c)
		if n < width {
			end = at
		}
	}
	return s
}

// Pad fills s with spaces up to width cells.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Text breaks a plain text like [Lines].
func Text(s string, width int) []string {
	return Lines([]Span{{Text: s}}, width)
}

// Lines breaks spans into lines of at most width cells, at spaces and line
// feeds, beside wide characters, behind hyphens except those of options, and
// within a word that is too long for a line. There is at least one line. A width below 2 counts as 2.
func Lines(spans []Span, width int) []string {
	b := breaker{width: max(width, 2), keep: false}
	return b.all(spans)
}

// Verbatim breaks spans only where a line is full, and keeps every space.
func Verbatim(spans []Span, width int) []string {
	b := breaker{width: max(width, 2), keep: true}
	return b.all(spans)
}

// cell is one character in its look.
type cell struct {
	text  string
	width int
	span  *Span
}

// breaker fills one line after the other. The cells after brk are a word that
// may still move to the next line.
type breaker struct {
	width int
	keep  bool
	line  []cell
	used  int // cells of the line
	brk   int // index in line after which it may be broken
	lines []string
}

func (b *breaker) all(spans []Span) []string {
	for i := range spans {
		sp := &spans[i]
		for s := sp.Text; s != ""; {
			c, w := First(s)
			s = s[len(c):]
			switch c {
			case "\n":
				b.end()
			case "\t":
				for range len(tab) {
					b.add(cell{" ", 1, sp})
				}
			default:
				b.add(cell{c, w, sp})
			}
		}
	}
	b.end()
	return b.lines
}

func (b *breaker) add(c cell) {
	space := c.text == " " && !b.keep
	for b.used+c.width > b.width && len(b.line) > 0 {
		if space {
			b.end()
			return
		}
		b.split() // What moves to the next line may fill it again.
	}
	if space && b.used == 0 && len(b.lines) > 0 {
		return // A line that goes on begins with a word.
	}
	if c.width == 2 && !b.keep {
		b.brk = len(b.line)
	}
	b.line = append(b.line, c)
	b.used += c.width
	if space || c.width == 2 || c.text == "-" && len(b.line) > 1 && !b.inOption() {
		b.brk = len(b.line)
	}
}

// inOption reports whether the word at the end of the line is an option of a command,
// which people copy.
func (b *breaker) inOption() bool {
	word := len(b.line)
	for word > 0 && b.line[word-1].text != " " {
		word--
	}
	return word < len(b.line) && b.line[word].text == "-"
}

// split ends the line at its last break, or where it is full.
func (b *breaker) split() {
	at := b.brk
	if at == 0 || b.keep {
		at = len(b.line)
	}
	rest := append([]cell(nil), b.line[at:]...)
	b.line = b.line[:at]
	b.end()
	for _, c := range rest {
		b.line = append(b.line, c)
		b.used += c.width
	}
}

// end puts the line away.
func (b *breaker) end() {
	line := b.line
	for !b.keep && len(line) > 0 && line[len(line)-1].text == " " {
		line = line[:len(line)-1]
	}
	var s strings.Builder
	for i := 0; i < len(line); {
		sp := line[i].span
		if sp.Link != "" {
			s.WriteString(ansi.SetHyperlink(sp.Link))
		}
		s.WriteString(sp.SGR)
		for ; i < len(line) && line[i].span == sp; i++ {
			s.WriteString(line[i].text)
		}
		if sp.SGR != "" {
			s.WriteString(ansi.ResetStyle)
		}
		if sp.Link != "" {
			s.WriteString(ansi.ResetHyperlink())
		}
	}
	b.lines = append(b.lines, s.String())
	b.line, b.used, b.brk = b.line[:0], 0, 0
}

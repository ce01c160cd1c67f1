// Package editor is the field in which a question is written: several lines,
// wrapped to the width, with the keys of a shell. A long text that is pasted
// stands there as one character, "[pasted 1.0 MB]", and costs as little.
//
// What is typed or pasted is kept as it came; what is shown is harmless.
package editor

import (
	"slices"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

const (
	// maxInline is the longest pasted text that is shown, in bytes and lines.
	maxInline      = 2000
	maxInlineLines = 12
)

// glyph is one character as people count them, or a long text that was pasted.
type glyph struct {
	text   string
	pasted bool
}

// Editor is a text and a place in it. The zero value is empty and ready.
type Editor struct {
	glyphs []glyph
	at     int // the cursor is before this glyph
	width  int
	want   int // column that up and down aim at, from 1; 0 is where the cursor is
	rows   []row
	fresh  bool // rows are those of glyphs
}

// row is a line on the screen: glyphs from begin, before end.
type row struct{ begin, end int }

// SetWidth sets how many cells a line has.
func (e *Editor) SetWidth(n int) {
	if n = max(n, 4); n != e.width {
		e.width, e.fresh = n, false
	}
}

// Value is the text, with everything that was pasted.
func (e *Editor) Value() string {
	var b strings.Builder
	for _, g := range e.glyphs {
		b.WriteString(g.text)
	}
	return b.String()
}

// Shown is the text as it is on the screen.
func (e *Editor) Shown() string {
	var b strings.Builder
	for _, g := range e.glyphs {
		b.WriteString(g.show())
	}
	return b.String()
}

// Empty reports whether there is no text.
func (e *Editor) Empty() bool { return len(e.glyphs) == 0 }

// Set replaces the text; the cursor goes behind it.
func (e *Editor) Set(s string) {
	e.glyphs, e.at = nil, 0
	e.Paste(s)
}

// Clear takes the text away.
func (e *Editor) Clear() { e.glyphs, e.at = nil, 0; e.changed() }

// Type inserts what a key gives.
func (e *Editor) Type(s string) { e.insert(split(s)) }

// Paste inserts a text, as one glyph if it is long.
func (e *Editor) Paste(s string) {
	if strings.Contains(s, "\r") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > maxInline || strings.Count(s, "\n") > maxInlineLines {
		e.insert([]glyph{{s, true}})
		return
	}
	e.insert(split(safe.Text(s)))
}

// Draft is a text under work that can be brought back as it was.
type Draft struct {
	glyphs []glyph
	at     int
}

// Draft returns the present text.
func (e *Editor) Draft() Draft { return Draft{slices.Clone(e.glyphs), e.at} }

// Restore brings a text back.
func (e *Editor) Restore(d Draft) {
	e.glyphs, e.at = slices.Clone(d.glyphs), d.at
	e.changed()
}

func (e *Editor) insert(g []glyph) {
	e.glyphs = slices.Insert(e.glyphs, e.at, g...)
	e.at += len(g)
	e.changed()
}

func (e *Editor) changed() { e.fresh, e.want = false, 0 }

// delete removes the glyphs from i, before j.
func (e *Editor) delete(i, j int) {
	i, j = max(i, 0), min(j, len(e.glyphs))
	if i >= j {
		return
	}
	e.glyphs = slices.Delete(e.glyphs, i, j)
	e.at = i
	e.changed()
}

func split(s string) []glyph {
	var g []glyph
	for s != "" {
		c, _ := wrap.First(s)
		g = append(g, glyph{text: c})
		s = s[len(c):]
	}
	return g
}

func (g glyph) show() string {
	if g.pasted {
		return "[pasted " + human.Size(int64(len(g.text))) + "]"
	}
	switch g.text {
	case "\t":
		return "    "
	case "\n":
		return g.text
	}
	// Other line ends would break the line of the screen.
	return strings.ReplaceAll(safe.Text(g.text), "\n", "")
}

func (g glyph) width() int {
	switch {
	case g.text == "\n" && !g.pasted:
		return 0
	case g.pasted || g.text == "\t":
		return len(g.show())
	}
	return wrap.Width(g.show())
}

func (g glyph) space() bool {
	return !g.pasted && strings.IndexFunc(g.text, unicode.IsSpace) == 0
}

// Append inserts a draft; the cursor goes behind it.
func (e *Editor) Append(d Draft) { e.insert(slices.Clone(d.glyphs)) }

// Empty reports whether the draft has no text.
func (d Draft) Empty() bool { return len(d.glyphs) == 0 }

// Text is the text of the draft.
func (d Draft) Text() string {
	e := Editor{glyphs: d.glyphs}
	return e.Value()
}

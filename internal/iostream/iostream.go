// Package iostream is a stream of output that knows what it leads to: a
// terminal or not, how wide, with or without colour.
//
// It decides about colour in one place (see [UseColor]) and never reads the
// environment by itself. Colour never carries meaning alone, so a Writer
// without it loses nothing.
package iostream

import (
	"io"
	"os"

	"golang.org/x/term"
)

// DefaultWidth is the width if the real one is unknown.
const DefaultWidth = 80

// Writer is an output stream. It is as safe for concurrent use as the writer
// below it.
type Writer struct {
	io.Writer

	tty   bool
	color bool
	width func() int
}

// New makes a Writer of w. Width is asked each time, since windows change;
// nil means DefaultWidth.
func New(w io.Writer, tty bool, width func() int) *Writer {
	if width == nil {
		width = func() int { return DefaultWidth }
	}
	return &Writer{Writer: w, tty: tty, width: width}
}

// FromFile makes a Writer of an open file, and looks whether it is a terminal.
func FromFile(f *os.File) *Writer {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return New(f, false, nil)
	}
	return New(f, prepare(fd), func() int {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
		return DefaultWidth
	})
}

// TTY reports whether a person looks at this stream.
func (w *Writer) TTY() bool { return w.tty }

// Width is the number of columns.
func (w *Writer) Width() int { return w.width() }

// SetColor switches the styles on or off. They are off at first.
func (w *Writer) SetColor(on bool) { w.color = on }

// Color reports whether there are styles.
func (w *Writer) Color() bool { return w.color }

// Style is a way to set text apart.
type Style string

// The styles, as parameters of the terminal's SGR sequence.
const (
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Styled is text in a style, or text alone where there is no colour.
func (w *Writer) Styled(s Style, text string) string {
	if !w.color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

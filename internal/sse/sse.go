// Package sse writes and reads server-sent events: the framing only, not what
// the frames mean.
//
// The writer knows the habits of the clients of OpenAI's API: one line of data
// a frame, LF only, no id and no retry lines. The reader follows the WHATWG
// specification and bounds what it keeps.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrMultiline is returned for data that does not fit into one line.
var ErrMultiline = errors.New("event data has more than one line")

// Writer writes events. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	flush func() error
	buf   []byte
}

// NewWriter makes a writer. flush is called after every event; nil is allowed.
func NewWriter(w io.Writer, flush func() error) *Writer {
	return &Writer{w: w, flush: flush}
}

// Data writes one event without a name: a single Write, then a flush.
func (w *Writer) Data(data []byte) error { return w.Event("", data) }

// Event writes one event with this name, which is left out if it is empty.
func (w *Writer) Event(name string, data []byte) error {
	if bytes.ContainsAny(data, "\r\n") || strings.ContainsAny(name, "\r\n") {
		return ErrMultiline
	}
	w.buf = w.buf[:0]
	if name != "" {
		w.buf = append(append(append(w.buf, "event: "...), name...), '\n')
	}
	w.buf = append(w.buf, "data: "...)
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, "\n\n"...)
	if _, err := w.w.Write(w.buf); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if w.flush == nil {
		return nil
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}

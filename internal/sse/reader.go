package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// ErrTooLarge is returned for an event that exceeds the limit of the reader.
var ErrTooLarge = errors.New("event is too large")

// Event is one event of a stream.
type Event struct {
	Name string // of an event line; empty for none
	Data []byte // the data lines, joined with line feeds
	ID   string // of the last id line of the stream
}

// Reader reads events. It is not safe for concurrent use.
type Reader struct {
	r     *bufio.Reader
	limit int
	begun bool
	skip  bool // the last line ended in CR: a LF that follows belongs to it
	id    string
	line  []byte
}

// readAhead is the size of a reader's buffer, in bytes: a few events. A stream
// waits for most of its life, and below a response there is another buffer.
const readAhead = 1 << 10

// NewReader makes a reader of events of which no line, and no data, is longer
// than limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, readAhead), limit: limit}
}

// Next reads the next event that has data. At the end of the stream it returns
// io.EOF; an event that was not complete by then is dropped, as the
// specification says. The data are the caller's.
func (r *Reader) Next() (Event, error) {
	var e Event
	has := false
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				e.ID = r.id
				return e, nil
			}
			e = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			if has {
				e.Data = append(e.Data, '\n')
			}
			if len(e.Data)+len(value) > r.limit {
				return Event{}, ErrTooLarge
			}
			e.Data, has = append(e.Data, value...), true
		case "id":
			if !bytes.ContainsRune(value, 0) {
				r.id = string(value)
			}
		}
	}
}

// readLine reads a line that ends in LF, CR or CRLF. It waits for no byte
// after a CR, so that an event is seen when it is complete.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if r.skip {
			r.skip = false
			if c == '\n' {
				continue
			}
		}
		switch c {
		case '\r', '\n':
			r.skip = c == '\r'
			return r.withoutMark(), nil
		}
		if len(r.line) == r.limit {
			return nil, ErrTooLarge
		}
		r.line = append(r.line, c)
	}
}

// withoutMark returns the line without the byte order mark that may begin a stream.
func (r *Reader) withoutMark() []byte {
	line := r.line
	if !r.begun {
		r.begun = true
		line = []byte(strings.TrimPrefix(string(line), "\uFEFF"))
	}
	return line
}

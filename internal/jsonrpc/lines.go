package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLong is a line that is longer than allowed. It was skipped.
var errLong = errors.New("line too long")

// lines reads lines of bounded length.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next is the next line that is not blank, without its end. The error is
// errLong, after which reading can go on, or one of the reader. A last line
// without an end counts.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		long = long || len(line)+len(part) > l.max
		if long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !long):
			return nil, err
		case long:
			return nil, errLong
		}
		return line, nil
	}
}

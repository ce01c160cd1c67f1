package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readableBody has the messages of an answer over HTTP in a form that the SDK reads.
func readableBody(resp *http.Response) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || resp.Body == nil {
		return
	}
	read := io.Reader(nil)
	switch kind {
	case "application/json":
		read = &whole{in: resp.Body}
	case "text/event-stream":
		read = &frames{in: bufio.NewReader(resp.Body)}
	default:
		return
	}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	resp.Body = struct {
		io.Reader
		io.Closer
	}{read, resp.Body}
}

// whole is an answer with one message.
type whole struct {
	in    io.Reader
	ready *bytes.Reader
}

func (w *whole) Read(p []byte) (int, error) {
	if w.ready == nil {
		data, err := io.ReadAll(io.LimitReader(w.in, sdk.DefaultMaxLineLength))
		if err != nil {
			return 0, err
		}
		if len(data) < sdk.DefaultMaxLineLength {
			data = readable(data)
		}
		w.ready = bytes.NewReader(data)
	}
	n, err := w.ready.Read(p)
	if errors.Is(err, io.EOF) {
		return w.in.Read(p) // the rest of what is too long
	}
	return n, err
}

// frames is a stream of events, each with one message.
type frames struct {
	in    *bufio.Reader
	ready bytes.Buffer
	err   error // of in

	lines, other, data []byte // of the event that is read
	long               bool   // it is given on as it is
}

func (f *frames) Read(p []byte) (int, error) {
	for f.ready.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		var line []byte
		line, f.err = f.in.ReadSlice('\n')
		if errors.Is(f.err, bufio.ErrBufferFull) {
			f.err = nil
		}
		f.take(line)
	}
	return f.ready.Read(p)
}

// take adds a line, or a piece of one, to the event.
func (f *frames) take(line []byte) {
	if f.long {
		f.ready.Write(line)
		f.long = len(bytes.TrimRight(line, "\r\n")) > 0
		return
	}
	f.lines = append(f.lines, line...)
	if f.err == nil && line[len(line)-1] != '\n' && len(f.lines) < sdk.DefaultMaxLineLength {
		return
	}
	ends := ended(f.lines)
	if f.err != nil || ends || len(f.lines) >= sdk.DefaultMaxLineLength {
		f.long = len(f.lines) >= sdk.DefaultMaxLineLength && !ends
		f.give()
	}
}

// ended reports whether the last of some lines is blank.
func ended(lines []byte) bool {
	text := bytes.ReplaceAll(lines[max(0, len(lines)-4):], []byte("\r"), nil)
	return bytes.HasSuffix(text, []byte("\n\n")) || len(bytes.TrimRight(lines, "\r\n")) == 0
}

// give gives the event on.
func (f *frames) give() {
	f.data, f.other = f.data[:0], f.other[:0]
	for line := range bytes.Lines(f.lines) {
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			f.data = append(append(f.data, bytes.TrimPrefix(bytes.TrimRight(text, "\r\n"), []byte(" "))...), '\n')
		} else if len(bytes.TrimRight(line, "\r\n")) > 0 {
			f.other = append(f.other, line...)
		}
	}
	message := bytes.TrimSpace(f.data)
	if changed := readable(message); f.long || f.err != nil || bytes.Equal(changed, message) {
		f.ready.Write(f.lines)
	} else {
		f.ready.Write(f.other)
		f.ready.WriteString("data: ")
		f.ready.Write(changed)
		f.ready.WriteString("\n\n")
	}
	f.lines = f.lines[:0]
}

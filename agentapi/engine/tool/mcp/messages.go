package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/pattern"
)

// messages is the stdout of a server without what is not a message: greetings, logs,
// progress. A message begins its line, so one that a log quotes does not count. Blanks,
// colours and a byte order mark may stand before it. If a server prints a message on
// several lines, the last one is "}" alone.
type messages struct {
	in   *bufio.Reader
	skip func(line []byte) // is told what is left out
	max  int               // bytes of a line

	ready bytes.Buffer
	open  []byte // the lines of a message that has not ended
	err   error  // of in
}

func newMessages(in io.Reader, skip func([]byte)) *messages {
	return &messages{in: bufio.NewReaderSize(in, 64<<10), skip: skip, max: sdk.DefaultMaxLineLength}
}

var errLongMessage = errors.New("the server sent a message that is too long")

// Read gives messages, one on a line.
func (m *messages) Read(p []byte) (int, error) {
	for m.ready.Len() == 0 {
		if m.err != nil {
			return 0, m.err
		}
		line, err := m.line()
		m.take(line)
		if m.err = err; err != nil {
			m.giveUp()
		}
	}
	return m.ready.Read(p)
}

// line reads the next line. A carriage return ends one, too: progress is printed so.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := m.in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > m.max {
			if bytes.Contains(line, []byte(`"jsonrpc"`)) {
				return nil, errLongMessage
			}
			long, line = true, line[:maxNoise] // its rest is not kept
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (m *messages) take(lines []byte) {
	for part := range bytes.SplitSeq(lines, []byte("\r")) {
		m.takeLine(part)
	}
}

// beforeMessage is what a terminal does not show.
var beforeMessage = pattern.Of(`^(?:\x{feff}|\s|\x00|\x1b\[[0-9;?]*[A-Za-z])+`)

// takeLine gives the messages of a line on.
func (m *messages) takeLine(line []byte) {
	rest := bytes.TrimRight(line[len(beforeMessage().Find(line)):], " \t\r\n\x00")
	if len(rest) == 0 {
		return
	}
	value, err := firstValue(rest)
	switch {
	case err == nil && m.give(value):
		m.takeLine(rest[len(value):])
	case (err != nil || len(m.open) > 0 && indented(line)) && m.continued(line, rest):
	default:
		m.giveUp()
		m.skip(rest)
	}
}

func indented(line []byte) bool { return line[0] == ' ' || line[0] == '\t' }

// firstValue is the object or list that a line begins with.
func firstValue(line []byte) (json.RawMessage, error) {
	if line[0] != '{' && line[0] != '[' {
		return nil, errors.New("it begins with no object")
	}
	var value json.RawMessage
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("read the line: %w", err)
	}
	return line[:d.InputOffset()], nil
}

// give gives a message on, or those of a list, one by one. It reports whether
// there is one.
func (m *messages) give(value json.RawMessage) bool {
	var all []json.RawMessage
	if value[0] == '{' {
		all = append(all, value)
	} else if json.Unmarshal(value, &all) != nil {
		return false
	}
	for i, one := range all {
		all[i] = readable(one)
		if _, err := jsonrpc.DecodeMessage(all[i]); err != nil {
			return false
		}
	}
	if len(all) == 0 {
		return false
	}
	m.giveUp()
	for _, one := range all {
		if json.Compact(&m.ready, one) == nil {
			m.ready.WriteByte('\n')
		}
	}
	return true
}

// continued reports whether a line may be part of a message on several lines, which
// is kept until its end comes.
func (m *messages) continued(line, rest []byte) bool {
	if len(m.open) == 0 && rest[0] != '{' || len(m.open)+len(line) > m.max {
		return false
	}
	m.open = append(append(m.open, rest...), '\n')
	if line[0] != '}' {
		return true
	}
	whole := m.open
	m.open = nil
	if value, err := firstValue(whole); err != nil || !m.give(value) {
		m.open = whole
		m.giveUp()
	}
	return true
}

// giveUp skips the open lines: together they are not a message.
func (m *messages) giveUp() {
	lines := m.open
	m.open = nil
	for line := range bytes.Lines(lines) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			m.skip(line)
		}
	}
}

package shell

import (
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/uuid"
)

// Kinds of events.
const (
	kindCommand = "BashCommand"
	kindOutput  = "BashOutput"
	kindError   = "BashError"
)

// request is a command as clients send it.
type request struct {
	Command string  `json:"command"`
	Dir     *string `json:"cwd"`
	Timeout int     `json:"timeout"` // seconds
}

// header is what all events have.
type header struct {
	ID   string `json:"id"`        // 32 hexadecimal digits
	Time string `json:"timestamp"` // UTC
}

// command is the event of a command.
type command struct {
	request
	header

	Kind string `json:"kind"`
}

// output is a piece of what a command has printed. The last one has its exit code.
type output struct {
	header

	Command string  `json:"command_id"`
	Order   int     `json:"order"`
	Code    *int    `json:"exit_code"`
	Stdout  *string `json:"stdout"`
	Stderr  *string `json:"stderr"`
	Kind    string  `json:"kind"`
}

// failure tells a socket what is wrong with its frame. It is not kept.
type failure struct {
	header

	Code   string `json:"code"`
	Detail string `json:"detail"`
	Kind   string `json:"kind"`
}

// timeForm is that of timestamps.
const timeForm = "2006-01-02T15:04:05.000000Z"

func headerAt(t time.Time) header { return header{ID: newID(), Time: t.Format(timeForm)} }

func newID() string { return strings.ReplaceAll(uuid.New(), "-", "") }

// event is one that was kept.
type event struct {
	name string // of its file, by which events are in the order of their times
	data []byte // JSON in one line
}

package jsonrpc

import (
	"encoding/json"
	"fmt"
)

// The codes of errors: those of JSON-RPC 2.0, and that of a cancelled request.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
)

// Error is the error of a request, on the wire and in Go.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Errorf makes an error of a code.
func Errorf(code int, format string, a ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, a...)}
}

// incoming is a message of the other side: a request, a notification, or the
// answer to a request of ours.
type incoming struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil where there is none
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// outgoing is a message of ours.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// noID is the id in an answer to what had no id that could be read.
var noID = json.RawMessage("null")

// maxID bounds the id of a request, in bytes.
const maxID = 1 << 10

// validID reports whether id is a string, a number or null, as ids are.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9' || string(id) == "null"
}

// parse reads a message. The error is what the other side is told.
func parse(line []byte) (incoming, *Error) {
	var m incoming
	if err := json.Unmarshal(line, &m); err != nil {
		if json.Valid(line) {
			return m, Errorf(CodeInvalidRequest, "the line is not a JSON-RPC message")
		}
		return m, Errorf(CodeParse, "the line is not valid JSON")
	}
	switch {
	case m.Version != "2.0":
		return m, Errorf(CodeInvalidRequest, `the message has no "jsonrpc": "2.0"`)
	case m.ID != nil && !validID(m.ID):
		return incoming{}, Errorf(CodeInvalidRequest, "the id of the message is not a string or a number")
	case m.Method == nil && m.ID == nil:
		return m, Errorf(CodeInvalidRequest, "the message has neither a method nor an id")
	}
	return m, nil
}

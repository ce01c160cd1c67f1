// Package protocol is what a client program of the end-to-end tests reads and
// writes, for the programs in Go: one request as JSON on stdin, one result as
// JSON on stdout. The tests have their own description of both (e2e/protocol.go)
// as the programs in other languages do, so that this module needs no other.
package protocol

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
)

// Request is one thing that a client is to do.
type Request struct {
	Op           string            `json:"op"` // "models" or "chat"
	BaseURL      string            `json:"base_url"`
	Key          string            `json:"api_key"`
	Model        string            `json:"model,omitempty"`
	Prompt       string            `json:"prompt,omitempty"`
	System       string            `json:"system,omitempty"`
	Image        string            `json:"image,omitempty"` // a data URL
	Headers      map[string]string `json:"headers,omitempty"`
	Stream       bool              `json:"stream,omitempty"`
	IncludeUsage bool              `json:"include_usage,omitempty"`
	AbortAfter   int               `json:"abort_after,omitempty"` // pieces of text after which to hang up
}

// Result is what came of it.
type Result struct {
	Client       string   `json:"client"`                // library and version
	Unsupported  bool     `json:"unsupported,omitempty"` // the library has no such call
	Attempts     int      `json:"attempts"`              // HTTP requests that were sent
	Models       []string `json:"models,omitempty"`
	Text         string   `json:"text"`
	Reasoning    string   `json:"reasoning"`
	Pieces       int      `json:"pieces"` // pieces of text
	Finish       string   `json:"finish,omitempty"`
	Usage        *Usage   `json:"usage,omitempty"`
	Conversation string   `json:"conversation"` // of the response header
	Aborted      bool     `json:"aborted,omitempty"`
	Error        *Error   `json:"error,omitempty"`
}

// Usage is the tokens that the client was told of.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Total      int `json:"total"`
}

// Error is a failure as a user of the library finds it.
type Error struct {
	Class   string `json:"class"`           // name of the exception or type
	Cause   string `json:"cause,omitempty"` // of the one inside, where the library wraps
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Param   string `json:"param"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Main runs a client around a library, given by the path of its module: it reads one
// request and writes one result.
func Main(stdin io.Reader, stdout io.Writer, library string, run func(Request, *Result) error, describe func(error) *Error) error {
	var request Request
	if err := json.NewDecoder(stdin).Decode(&request); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	result := Result{Client: library + " " + version(library)}
	if err := run(request, &result); err != nil {
		result.Error = describe(err)
	}
	return json.NewEncoder(stdout).Encode(result)
}

// Add takes a piece of text. It reports whether the client is to hang up.
func (r *Result) Add(request Request, piece string) bool {
	if piece == "" {
		return false
	}
	r.Text += piece
	r.Pieces++
	r.Aborted = request.AbortAfter > 0 && r.Pieces >= request.AbortAfter
	return r.Aborted
}

// version is the version of a library that this program was built with.
func version(library string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == library {
				return dependency.Version
			}
		}
	}
	return "?"
}

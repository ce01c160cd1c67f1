//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// request is one thing that a client program is to do, as it reads it.
type request struct {
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

// result is what came of it, as a client program prints it.
type result struct {
	Client       string   `json:"client"`      // library and version
	Unsupported  bool     `json:"unsupported"` // the library has no such call
	Attempts     int      `json:"attempts"`    // HTTP requests that were sent
	Models       []string `json:"models"`
	Text         string   `json:"text"`
	Reasoning    string   `json:"reasoning"`
	Pieces       int      `json:"pieces"` // pieces of text
	Finish       string   `json:"finish"`
	Usage        *usage   `json:"usage"`
	Conversation string   `json:"conversation"` // of the response header
	Aborted      bool     `json:"aborted"`
	Error        *failure `json:"error"`
}

// usage is the tokens that a client was told of.
type usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Total      int `json:"total"`
}

// failure is an error as a user of the library finds it.
type failure struct {
	Class   string `json:"class"` // name of the exception or type
	Cause   string `json:"cause"` // of the one inside, where the library wraps
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Param   string `json:"param"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (f *failure) String() string {
	if f == nil {
		return "no error"
	}
	return fmt.Sprintf("%s %d %q %q: %s", f.Class, f.Status, f.Code, f.Param, f.Message)
}

// clientTime bounds one client program; LangChain's retries take a minute.
const clientTime = 3 * time.Minute

// run runs the client program once.
func (c client) run(t *testing.T, r request) result {
	t.Helper()
	in, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Dir = c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.command, " "), err, stderr.String())
	}
	var out result
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%s printed %q: %v", strings.Join(c.command, " "), stdout.String(), err)
	}
	return out
}

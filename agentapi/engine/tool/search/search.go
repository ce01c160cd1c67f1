// Package search has the tools that find files: glob by their names, grep by their
// text.
//
// They use files as the box of the conversation allows. Invariants: nothing is
// changed; no link is followed; a search ends after a limited time and a limited
// number of files, and says so. It starts no program.
package search

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Limits of one search.
const (
	maxFiles   = 100     // in a result
	maxEntries = 500_000 // files and directories that are looked at
	maxSize    = 10 << 20
	maxTime    = 30 * time.Second
)

// Config is what the tools need.
type Config struct {
	// Dir is the workspace, absolute.
	Dir string
	// Confined keeps the tools inside Dir.
	Confined bool
	// Files is how the tools use files; each tool owns its own.
	Files sandbox.Files
}

// place resolves where a search begins. The error is for the model.
func (c Config) place(path string) (string, error) {
	if path == "" {
		path = c.Dir
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	real, err := c.Files.Real(filepath.Clean(path))
	if err == nil && c.Confined {
		base, baseErr := c.Files.Real(c.Dir)
		if baseErr != nil || !subpath.Within(base, real) {
			return path, fmt.Errorf("%s is outside the workspace %s, and this tool may only search in there", path, c.Dir)
		}
	}
	if err == nil {
		if info, statErr := c.Files.Stat(real); statErr == nil && info.IsDir() {
			return real, nil
		}
	}
	return path, fmt.Errorf("%s is not a directory that can be searched", path)
}

// answer is a result: its text, and the fields of the observation.
func answer(kind, text string, failed bool, fields any) (tool.Result, error) {
	text, err := tool.Truncate(text, tool.LimitFile, "", "")
	if err != nil {
		return tool.Result{}, err
	}
	return tool.NewResult(kind, []event.Content{event.Text(text)}, failed, fields)
}

// sentence makes an error's text one.
func sentence(err error) string {
	text := strings.TrimSuffix(err.Error(), ".")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// annotations are those of tools that only look.
func annotations(title string) *tool.Annotations {
	return &tool.Annotations{Title: title, ReadOnly: true, Idempotent: true}
}

// parse reads the arguments of a call.
func parse(ctx context.Context, name string, args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return &tool.ArgumentError{Msg: "the arguments of " + name + " cannot be read"}
	}
	return ctx.Err()
}

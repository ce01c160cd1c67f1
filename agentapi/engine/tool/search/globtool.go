package search

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/glob"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/truncate"
)

//go:embed glob.md
var globDescription string

// globParameters are shared by all conversations and never changed.
var globParameters = []byte(`{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"The glob for the files' paths, such as **/*.js or src/**/*.ts."},` +
	`"path":{"type":"string","description":"The absolute path of the directory to search. The default is the workspace."}` +
	`},"required":["pattern"],"additionalProperties":false}`)

// Glob is the tool that finds files by their names.
type Glob struct{ cfg Config }

// NewGlob makes the tool.
func NewGlob(cfg Config) *Glob { return &Glob{cfg} }

// Definition is what the model is told.
func (g *Glob) Definition() tool.Definition {
	return tool.Definition{
		Name:        "glob",
		Description: strings.TrimSpace(globDescription) + "\n\nThe workspace is " + g.cfg.Dir + ".",
		Parameters:  globParameters,
		ActionKind:  "GlobAction", ObservationKind: "GlobObservation", Kind: "GlobTool",
		Annotations: annotations("glob"),
	}
}

// Locks says that calls need nothing for themselves.
func (g *Glob) Locks(json.RawMessage) []string { return []string{} }

// Close lets go of the workspace.
func (g *Glob) Close() error { return g.cfg.Files.Close() }

// globResult are the fields of a GlobObservation besides content.
type globResult struct {
	Files      []string `json:"files"`
	Pattern    string   `json:"pattern"`
	SearchPath string   `json:"search_path"`
	Truncated  bool     `json:"truncated"`
}

// Run executes one call.
func (g *Glob) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var a struct{ Pattern, Path string }
	if err := parse(ctx, "glob", call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	dir, pattern := a.Path, a.Pattern
	if dir == "" && filepath.IsAbs(pattern) {
		dir, pattern = splitPattern(pattern)
	}
	at, err := g.cfg.place(dir)
	out := globResult{Files: []string{}, Pattern: a.Pattern, SearchPath: at}
	if err != nil {
		return answer("GlobObservation", sentence(err), true, out)
	}
	if !strings.Contains(pattern, "**") {
		pattern = "**/" + strings.TrimPrefix(pattern, "./")
	}
	re, err := glob.Full(pattern)
	if err != nil {
		return answer("GlobObservation", fmt.Sprintf("The pattern %q cannot be read: %v.", truncate.Head(a.Pattern, 200), err), true, out)
	}
	w := walker{
		files: g.cfg.Files, root: at, hidden: namesHidden(pattern),
		match: func(name string, _ fs.FileInfo) (bool, error) { return re.MatchString(name), nil },
	}
	all, cut, err := w.walk(ctx)
	if err != nil {
		return tool.Result{}, fmt.Errorf("search %s: %w", at, err)
	}
	about := fmt.Sprintf("%q in %s", a.Pattern, at)
	var text string
	text, out.Files, out.Truncated = list(all, "No file matches "+about+".", fmt.Sprintf("Files that match %s:", about), cut)
	return answer("GlobObservation", text, false, out)
}

// splitPattern takes the directories without a special character off a pattern.
func splitPattern(pattern string) (dir, rest string) {
	pattern = filepath.ToSlash(pattern)
	end := len(pattern)
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		end = i
	}
	cut := strings.LastIndexByte(pattern[:end], '/')
	return filepath.FromSlash(pattern[:cut+1]), pattern[cut+1:]
}

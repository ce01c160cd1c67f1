package search

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/glob"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/truncate"
)

//go:embed grep.md
var grepDescription string

// grepParameters are shared by all conversations and never changed.
var grepParameters = []byte(`{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"The regular expression to find in the text of files."},` +
	`"path":{"type":"string","description":"The absolute path of the directory to search. The default is the workspace."},` +
	`"include":{"type":"string","description":"A glob for the names of the files to search, such as *.js or *.{ts,tsx}."}` +
	`},"required":["pattern"],"additionalProperties":false}`)

// sniffed is how much of a file decides whether it is a text.
const sniffed = 8000

// Grep is the tool that finds files by their text.
type Grep struct{ cfg Config }

// NewGrep makes the tool.
func NewGrep(cfg Config) *Grep { return &Grep{cfg} }

// Definition is what the model is told.
func (g *Grep) Definition() tool.Definition {
	return tool.Definition{
		Name:        "grep",
		Description: strings.TrimSpace(grepDescription) + "\n\nThe workspace is " + g.cfg.Dir + ".",
		Parameters:  grepParameters,
		ActionKind:  "GrepAction", ObservationKind: "GrepObservation", Kind: "GrepTool",
		Annotations: annotations("grep"),
	}
}

// Locks says that calls need nothing for themselves.
func (g *Grep) Locks(json.RawMessage) []string { return []string{} }

// Close lets go of the workspace.
func (g *Grep) Close() error { return g.cfg.Files.Close() }

// grepResult are the fields of a GrepObservation besides content.
type grepResult struct {
	Matches    []string `json:"matches"`
	Pattern    string   `json:"pattern"`
	SearchPath string   `json:"search_path"`
	Include    string   `json:"include_pattern,omitempty"`
	Truncated  bool     `json:"truncated"`
}

// Run executes one call.
func (g *Grep) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var a struct{ Pattern, Path, Include string }
	if err := parse(ctx, "grep", call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	at, err := g.cfg.place(a.Path)
	out := grepResult{Matches: []string{}, Pattern: a.Pattern, SearchPath: at, Include: a.Include}
	var s searcher
	if err == nil {
		s, err = newSearcher(g.cfg, at, a.Pattern, a.Include)
	}
	if err != nil {
		return answer("GrepObservation", sentence(err), true, out)
	}
	w := walker{files: g.cfg.Files, root: at, match: s.match, hidden: namesHidden(a.Include), leave: leaveAll}
	if a.Include != "" {
		w.leave = leaveDirs
	}
	all, cut, err := w.walk(ctx)
	if err != nil {
		return tool.Result{}, fmt.Errorf("search %s: %w", at, err)
	}
	about := fmt.Sprintf("%q in %s", a.Pattern, at)
	if a.Include != "" {
		about += fmt.Sprintf(" (%s)", a.Include)
	}
	var text string
	text, out.Matches, out.Truncated = list(all, "No file has a line that matches "+about+".", fmt.Sprintf("Files with a line that matches %s:", about), cut)
	if s.big > 0 {
		text += fmt.Sprintf("\n[%d files of more than %d MB were not searched.]", s.big, maxSize>>20)
	}
	return answer("GrepObservation", text, false, out)
}

// searcher says which files have a text.
type searcher struct {
	cfg     Config
	root    string
	text    *regexp.Regexp
	include *regexp.Regexp // nil: all
	byPath  bool           // include is about paths, not names
	big     int            // files that are too big
}

func newSearcher(cfg Config, root, pattern, include string) (searcher, error) {
	s := searcher{cfg: cfg, root: root, byPath: strings.Contains(include, "/")}
	var err error
	if s.text, err = regexp.Compile("(?im)" + pattern); err != nil {
		why := err.Error()
		if wrong, ok := errors.AsType[*syntax.Error](err); ok {
			why = wrong.Code.String()
		}
		return s, fmt.Errorf("the pattern %q is not a regular expression: %s", truncate.Head(pattern, 200), why)
	}
	if include == "" {
		return s, nil
	}
	if s.include, err = glob.Full(include); err != nil {
		return s, fmt.Errorf("the include pattern %q cannot be read: %w", truncate.Head(include, 200), err)
	}
	return s, nil
}

// match reports whether a file is wanted. One that cannot be read is not.
func (s *searcher) match(name string, info fs.FileInfo) (bool, error) {
	about := path.Base(name)
	if s.byPath {
		about = name
	}
	if s.include != nil && !s.include.MatchString(about) {
		return false, nil
	}
	if info.Size() > maxSize {
		s.big++
		return false, nil
	}
	data, _, err := s.cfg.Files.Read(filepath.Join(s.root, filepath.FromSlash(name)), maxSize)
	if err != nil || bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 {
		return false, nil // what cannot be read has no match
	}
	if !bytes.Contains(data, []byte("\r\n")) && !s.text.Match(data) {
		return false, nil // the usual case, without a look at each line
	}
	for line := range bytes.Lines(data) { // an expression such as [^x] also matches line ends
		if s.text.Match(bytes.TrimRight(line, "\r\n")) {
			return true, nil
		}
	}
	return false, nil
}

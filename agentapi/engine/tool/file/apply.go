package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/patch"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

//go:embed apply_patch.md
var patchDescription string

// patchParameters are shared by all conversations and never changed.
var patchParameters = []byte(`{"type":"object","properties":{` +
	`"patch":{"type":"string","description":"The patch, from *** Begin Patch to *** End Patch."}` +
	`},"required":["patch"],"additionalProperties":false}`)

// Patcher is the tool apply_patch of one conversation.
type Patcher struct {
	editor *Editor
	files  sandbox.Streams
}

// NewPatcher makes the tool. Files belong to it then.
func NewPatcher(dir string, confined bool, files sandbox.Streams) (*Patcher, error) {
	// A patch never leaves the workspace, whatever the box allows.
	e, err := New(Config{Dir: dir, Confined: confined, Files: files})
	if err != nil {
		return nil, err
	}
	if e.real, err = files.Real(dir); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Patcher{e, files}, nil
}

// Definition is what the model is told.
func (p *Patcher) Definition() tool.Definition {
	return tool.Definition{
		Name:        "apply_patch",
		Description: strings.TrimSpace(patchDescription) + "\n\nThe workspace is " + p.editor.cfg.Dir + ".",
		Parameters:  patchParameters,
		ActionKind:  "ApplyPatchAction", ObservationKind: "ApplyPatchObservation", Kind: "ApplyPatchTool",
		Annotations: &tool.Annotations{Title: "apply_patch", Destructive: true},
	}
}

// Locks says that calls come one after the other.
func (p *Patcher) Locks(json.RawMessage) []string { return nil }

// Close lets go of the workspace.
func (p *Patcher) Close() error { return p.editor.Close() }

// fileChange is what was done with a file, as an observation has it.
type fileChange struct {
	Type patch.Kind `json:"type"`
	Old  *string    `json:"old_content,omitempty"`
	New  *string    `json:"new_content,omitempty"`
	Move string     `json:"move_path,omitempty"`
}

// commit is all that was done.
type commit struct {
	Changes map[string]fileChange `json:"changes"`
}

// patchResult are the fields of an ApplyPatchObservation besides content.
type patchResult struct {
	Message string  `json:"message"`
	Fuzz    int     `json:"fuzz"`
	Commit  *commit `json:"commit,omitempty"`
}

// Run executes one call. What cannot be done is a result with IsError.
func (p *Patcher) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var a struct {
		Patch string `json:"patch"`
	}
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "the arguments of apply_patch cannot be read"}
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	result, err := p.apply(ctx, a.Patch)
	refused, isRefusal := errors.AsType[*refusal](err)
	switch {
	case isRefusal:
		result = patchResult{}
		return tool.NewResult("ApplyPatchObservation", []event.Content{event.Text(refused.msg)}, true, result)
	case err != nil:
		return tool.Result{}, fmt.Errorf("apply a patch: %w", err)
	}
	return tool.NewResult("ApplyPatchObservation", []event.Content{event.Text(result.Message)}, false, result)
}

func (p *Patcher) apply(ctx context.Context, text string) (patchResult, error) {
	changes, err := patch.Parse(text)
	if err != nil {
		return patchResult{}, refusef("Nothing was changed. The patch cannot be read: %v.", err)
	}
	release, err := editing.Take(ctx, p.places(changes)...)
	if err != nil {
		return patchResult{}, err
	}
	defer release()
	steps, result, err := p.plan(changes)
	if err != nil {
		return patchResult{}, err
	}
	for _, s := range steps {
		if err := s.check(); err != nil {
			return patchResult{}, err
		}
	}
	for i, s := range steps {
		if err := s.do(p.files); err != nil {
			err = readable(s.at.path, err)
			for _, done := range slices.Backward(steps[:i]) {
				if undone := done.undo(p.files); undone != nil {
					return patchResult{}, refusef("%v %s was changed already and could not be restored: %v.", err, done.at.path, undone)
				}
			}
			return patchResult{}, refusef("Nothing was changed. %v", err)
		}
	}
	return result, nil
}

// places are the files that changes are for. What has no place is refused later.
func (p *Patcher) places(changes []patch.Change) (names []string) {
	for _, c := range changes {
		for _, path := range []string{c.Path, c.MoveTo} {
			if path == "" {
				continue
			}
			if at, err := p.at(path); err == nil {
				names = append(names, at.real)
			}
		}
	}
	return names
}

// plan checks all changes and says what to write.
func (p *Patcher) plan(changes []patch.Change) (steps []step, result patchResult, err error) {
	result.Commit = &commit{Changes: map[string]fileChange{}}
	var said []string
	for _, c := range changes {
		more, done, fuzz, err := p.planOne(c)
		if err != nil {
			return nil, result, refusef("Nothing was changed. %v", err)
		}
		for _, s := range more {
			if slices.ContainsFunc(steps, func(o step) bool { return o.at.real == s.at.real }) {
				return nil, result, refusef("Nothing was changed. The patch changes %s twice.", s.at.path)
			}
		}
		steps, result.Fuzz = append(steps, more...), result.Fuzz+fuzz
		result.Commit.Changes[c.Path] = done
		said = append(said, sentence(c))
	}
	result.Message = strings.Join(said, "\n")
	if result.Fuzz > 0 {
		result.Message += "\nSome lines were found although their blanks or their place differ: check the files."
	}
	return steps, result, nil
}

func sentence(c patch.Change) string {
	switch {
	case c.Kind == patch.Add:
		return "Added " + c.Path + "."
	case c.Kind == patch.Delete:
		return "Deleted " + c.Path + "."
	case c.MoveTo != "":
		return "Updated " + c.Path + ", which is " + c.MoveTo + " now."
	}
	return "Updated " + c.Path + "."
}

// at finds the place of a path of a patch, with the directories that it needs.
func (p *Patcher) at(path string) (*place, error) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(p.editor.cfg.Dir, filepath.FromSlash(path))
	}
	full = filepath.Clean(full)
	// The nearest directory that exists says where a new file would be.
	rest, dir := "", full
	real, err := p.files.Real(dir)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		rest, dir = filepath.Join(filepath.Base(dir), rest), filepath.Dir(dir)
		real, err = p.files.Real(dir)
	}
	if errors.Is(err, sandbox.ErrOutside) {
		return nil, p.editor.outside(path)
	}
	if err != nil {
		return nil, readable(path, err)
	}
	real = filepath.Join(real, rest)
	name, ok := subpath.Rel(p.editor.real, real)
	if !ok || name == "." {
		return nil, refusef("%s is outside the workspace %s, and a patch may only change files in there.", path, p.editor.cfg.Dir)
	}
	if p.editor.cfg.Confined && ofGit(name) {
		return nil, refusef("%s belongs to git, which runs programs that are named in there.", path)
	}
	return &place{path: path, real: real, name: name, files: p.files}, nil
}

// Package file is the agent's file editor: it shows files and directories and
// edits text.
//
// Invariants: a file is changed in one step or not at all; bytes that were not
// meant to change do not, whatever the encoding and the line ends; with a
// confined workspace no path, no link and no race leads out of it. It is not a
// search tool and does not touch binary files.
package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
)

//go:embed file_editor.md
var description string

// parameters are shared by all conversations and never changed.
var parameters = []byte(`{"type":"object","properties":{` +
	`"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"],"description":"What to do."},` +
	`"path":{"type":"string","description":"The absolute path of the file or directory."},` +
	`"file_text":{"type":"string","description":"For create, required: the content of the new file."},` +
	`"old_str":{"type":"string","description":"For str_replace, required: the text to replace, exactly as it is in the file."},` +
	`"new_str":{"type":"string","description":"For str_replace and insert, required: the new text."},` +
	`"insert_line":{"type":"integer","minimum":0,"description":"For insert, required: the number of the line after which the new text goes."},` +
	`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view of a file: the first and the last line to show, counted from 1. -1 as the last one is the end of the file."}` +
	`},"required":["command","path"],"additionalProperties":false}`)

// kindPrefixes of the classes of both tools.
const (
	kindEditor   = "FileEditor"
	kindPlanning = "PlanningFileEditor"
)

// Config is what an Editor needs.
type Config struct {
	// Dir is the workspace, absolute.
	Dir string
	// Confined keeps the editor inside Dir.
	Confined bool
	// Files is how the editor uses files; it belongs to the editor then. Nil: as
	// ohgw itself, confined or not.
	Files sandbox.Files
	// Also is a directory that an editor confined to Dir may use as well, and AlsoFiles how;
	// they belong to the editor. The directory has no links in its path. Nil: none.
	Also      string
	AlsoFiles sandbox.Files
	// Plan makes the tool planning_file_editor, which edits this file alone. The path
	// is absolute; "" makes file_editor, which edits all.
	Plan string
	// Vision reports whether the model is shown images now: another model may
	// answer next. Nil: never.
	Vision func() bool
}

// Editor is the tool of one conversation. Calls for different files may run at
// the same time.
type Editor struct {
	cfg   Config
	files sandbox.Files
	real  string // the workspace without links, if confined

	mu      sync.Mutex
	history history
	held    atomic.Int64 // the history's size
}

// New makes the tool. The directory must exist if the editor is confined to it.
func New(cfg Config) (*Editor, error) {
	if cfg.Vision == nil {
		cfg.Vision = func() bool { return false }
	}
	e := &Editor{cfg: cfg, files: cfg.Files}
	var err error
	if e.files == nil {
		e.files = sandbox.Unconfined()
		if cfg.Confined {
			e.files, err = sandbox.Confined(cfg.Dir)
		}
	}
	if err == nil && cfg.Confined {
		e.real, err = e.files.Real(cfg.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return e, nil
}

// Definition describes the tool to the model.
func (e *Editor) Definition() tool.Definition {
	text := strings.TrimSpace(description)
	if e.cfg.Vision() {
		text += "\n\n`view` shows pictures, too: " + imageNames + "."
	}
	text += "\n\nYou work in " + e.cfg.Dir + ": begin there when you look around."
	if e.cfg.Confined {
		text += " Paths outside of it are refused"
		if e.cfg.AlsoFiles != nil {
			text += ", but for " + e.cfg.Also
		}
		text += "."
	}
	name, annotations := "file_editor", &tool.Annotations{Title: "file_editor", Destructive: true}
	if e.cfg.Plan != "" {
		name, annotations = "planning_file_editor", &tool.Annotations{Title: "planning_file_editor"}
		text += "\n\nYou are planning: you can view every file, but edit only the plan, " + e.cfg.Plan + ". It has headings already; write under them. Other agents will read it."
	}
	return tool.Definition{
		Name:            name,
		Description:     text,
		Parameters:      parameters,
		ActionKind:      e.kind() + "Action",
		ObservationKind: e.kind() + "Observation",
		Kind:            e.kind() + "Tool",
		Annotations:     annotations,
	}
}

// kind is what the tool's classes begin with.
func (e *Editor) kind() string {
	if e.cfg.Plan != "" {
		return kindPlanning
	}
	return kindEditor
}

// Locks names the file, so that two calls for it come one after the other,
// whatever links they name it by.
func (e *Editor) Locks(args json.RawMessage) []string {
	var a arguments
	if json.Unmarshal(args, &a) != nil {
		return nil
	}
	path := filepath.Clean(a.Path)
	if real, err := e.filesAt(path).Real(path); err == nil {
		path = real
	}
	return []string{"file:" + path}
}

// Close lets go of the workspace.
func (e *Editor) Close() error {
	err := e.files.Close()
	if e.cfg.AlsoFiles != nil {
		err = errors.Join(err, e.cfg.AlsoFiles.Close())
	}
	return err
}

type arguments struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	FileText   *string `json:"file_text"`
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"`
	InsertLine *int    `json:"insert_line"`
	ViewRange  []int   `json:"view_range"`
}

// observation are the fields of a FileEditorObservation besides content.
type observation struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	PrevExist  bool    `json:"prev_exist"`
	OldContent *string `json:"old_content,omitempty"`
	NewContent *string `json:"new_content,omitempty"`
}

// outcome is what a command did.
type outcome struct {
	content  []event.Content
	old, now *string
	created  bool
}

func says(text string) outcome { return outcome{content: []event.Content{event.Text(text)}} }

// Run executes one call. What cannot be done is a result with IsError.
func (e *Editor) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var a arguments
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "the arguments of file_editor cannot be read"}
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	out, err := e.do(ctx, a)
	refused, isRefusal := errors.AsType[*refusal](err)
	switch {
	case isRefusal:
		out = says(refused.msg)
	case err != nil:
		return tool.Result{}, fmt.Errorf("%s %s: %w", a.Command, a.Path, err)
	}
	return tool.NewResult(e.kind()+"Observation", out.content, isRefusal, observation{
		Command: a.Command, Path: a.Path, PrevExist: !out.created, OldContent: out.old, NewContent: out.now,
	})
}

func (e *Editor) do(ctx context.Context, a arguments) (outcome, error) {
	p, err := e.find(a.Path)
	if err != nil {
		return outcome{}, err
	}
	if e.cfg.Confined && a.Command != "view" && ofGit(p.name) {
		return outcome{}, refusef("%s belongs to git, which runs programs that are named in there. This tool only shows it. Use git in the terminal.", p.path)
	}
	if a.Command != "view" && !e.editable(p) {
		return outcome{}, refusef("Only the plan, %s, can be edited. Nothing was changed.", e.cfg.Plan)
	}
	if a.Command == "view" {
		return e.at(p, a)
	}
	release, err := editing.Take(ctx, p.real)
	if err != nil {
		return outcome{}, err
	}
	defer release()
	return e.at(p, a)
}

// at does what a call says with what is at a place.
func (e *Editor) at(p *place, a arguments) (outcome, error) {
	info, err := p.files.Stat(p.real)
	isDir := err == nil && info.IsDir()
	if err := p.fits(a.Command, isDir, err); err != nil {
		return outcome{}, err
	}
	switch a.Command {
	case "view":
		if isDir {
			return viewDir(p, a.ViewRange)
		}
		return e.viewFile(p, a.ViewRange)
	case "create":
		return create(p, a)
	case "str_replace":
		return e.replaceText(p, a)
	case "insert":
		return e.insertText(p, a)
	case "undo_edit":
		return e.undo(p)
	}
	return outcome{}, refusef("There is no command %q. The commands are view, create, str_replace, insert and undo_edit.", a.Command)
}

// fits says why a command cannot be done with what is at a place: failed is the
// error of looking for it.
func (p *place) fits(command string, isDir bool, failed error) error {
	switch {
	case failed == nil && command == "create":
		return exists(p.path)
	case isDir && command != "view":
		return refusef("%s is a directory: it can only be viewed.", p.path)
	case errors.Is(failed, fs.ErrNotExist) && command != "create":
		return p.missing()
	case failed != nil && command != "create":
		return readable(p.path, failed)
	}
	return nil
}

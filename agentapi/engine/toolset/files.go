package toolset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/agentapi/engine/tool/search"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// files is how a tool uses files: as the box allows.
func (m *maker) files() (sandbox.Streams, error) {
	files, err := sandbox.StreamsOf(m.box(), m.env.Workspace, m.cfg.Confined)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return files, nil
}

func (m *maker) box() sandbox.Box {
	if m.env.Box == nil {
		return sandbox.Outside(sandbox.Off, sandbox.Mark{})
	}
	return m.env.Box
}

// editor makes the file editor, which uses files as the box allows. One that is confined to
// the workspace also edits the notes of the user, if the agent keeps some.
func (m *maker) editor() (tool.Tool, error) {
	files, err := m.files()
	if err != nil {
		return nil, err
	}
	cfg := file.Config{Dir: m.env.Workspace, Confined: m.cfg.Confined, Files: files, Vision: m.env.Host.Vision}
	if m.cfg.Confined && m.env.Memory != "" {
		if cfg.AlsoFiles, err = sandbox.FilesOf(m.box(), m.env.Memory, true); err != nil {
			return nil, errors.Join(fmt.Errorf("open the notes of the user: %w", err), files.Close())
		}
		cfg.Also = m.env.Memory
		return owned(closers{files, cfg.AlsoFiles})(file.New(cfg))
	}
	return owned(files)(file.New(cfg))
}

// closers are closed together.
type closers []interface{ Close() error }

// Close closes all of them.
func (c closers) Close() error {
	var errs []error
	for _, each := range c {
		errs = append(errs, each.Close())
	}
	return errors.Join(errs...)
}

// planner makes the editor of a plan, and the plan.
func (m *maker) planner(params json.RawMessage) (tool.Tool, error) {
	var p struct {
		Path string `json:"plan_path"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("read the parameters of planning_file_editor: %w", err)
		}
	}
	files, err := m.files()
	if err != nil {
		return nil, err
	}
	plan, err := file.PlanPath(files, m.env.Workspace, p.Path)
	if err == nil {
		err = file.MakePlan(files, plan)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the plan: %w", err), files.Close())
	}
	return owned(files)(file.New(file.Config{
		Dir: m.env.Workspace, Confined: m.cfg.Confined, Files: files, Vision: m.env.Host.Vision, Plan: plan,
	}))
}

// makeFound makes a tool that searches or patches, nil if there is none of that name.
func (m *maker) makeFound(s spec) (tool.Tool, error) {
	switch s.Name {
	case "planning_file_editor", "PlanningFileEditorTool":
		return m.planner(s.Params)
	case "glob", "GlobTool", "grep", "GrepTool", "apply_patch", "ApplyPatchTool":
	default:
		return nil, nil
	}
	files, err := m.files()
	if err != nil {
		return nil, err
	}
	cfg := search.Config{Dir: m.env.Workspace, Confined: m.cfg.Confined, Files: files}
	switch s.Name {
	case "glob", "GlobTool":
		return search.NewGlob(cfg), nil
	case "grep", "GrepTool":
		return search.NewGrep(cfg), nil
	}
	patcher, err := file.NewPatcher(m.env.Workspace, m.cfg.Confined, files)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return patcher, nil
}

// owned closes files whose tool could not be made.
func owned(files interface{ Close() error }) func(*file.Editor, error) (tool.Tool, error) {
	return func(e *file.Editor, err error) (tool.Tool, error) {
		if err != nil {
			return nil, errors.Join(err, files.Close())
		}
		return e, nil
	}
}

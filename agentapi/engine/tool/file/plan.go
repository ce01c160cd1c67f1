package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// PlanPath returns where the plan of a workspace is: at asked, if that is not "", in
// PLAN.md of the workspace if it exists, otherwise in .agents_tmp.
func PlanPath(files sandbox.Files, dir, asked string) (string, error) {
	if asked != "" {
		if !filepath.IsAbs(asked) {
			return "", errors.New("plan_path of planning_file_editor must be an absolute path")
		}
		return filepath.Clean(asked), nil
	}
	old := filepath.Join(dir, "PLAN.md")
	if real, err := files.Real(old); err == nil {
		if _, err := files.Stat(real); err == nil {
			return old, nil
		}
	}
	return filepath.Join(dir, ".agents_tmp", "PLAN.md"), nil
}

// MakePlan makes the plan with its headings, if it does not exist.
func MakePlan(files sandbox.Streams, path string) error {
	dir, err := files.Real(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Dir(path)
	} else if err != nil {
		return err
	}
	if err := files.MakeDir(dir); err != nil {
		return err
	}
	if dir, err = files.Real(filepath.Dir(path)); err != nil {
		return err
	}
	headings := []string{"OBJECTIVE", "CONTEXT SUMMARY", "APPROACH OVERVIEW", "IMPLEMENTATION STEPS", "TESTING AND VALIDATION"}
	var b strings.Builder
	for i, heading := range headings {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("# " + string(rune('1'+i)) + ". " + heading + "\n")
	}
	err = files.Create(filepath.Join(dir, filepath.Base(path)), []byte(b.String()))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// editable reports whether a place may be edited.
func (e *Editor) editable(p *place) bool {
	if e.cfg.Plan == "" {
		return true
	}
	real, err := e.files.Real(e.cfg.Plan)
	return err == nil && real == p.real
}

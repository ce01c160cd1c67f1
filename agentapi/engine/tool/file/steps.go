package file

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine/tool/patch"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// step is one file to write or to remove.
type step struct {
	at     *place
	before []byte      // its content; nil if it does not exist
	info   fs.FileInfo // nil if it does not exist
	after  []byte      // nil: remove it
	like   fs.FileInfo // whose mode a new file gets; nil: the usual
}

// check reports a file that is not what the plan was made from.
func (s step) check() error {
	if s.info == nil {
		return nil // Create makes no file that is there
	}
	return s.at.unchanged(s.before)
}

// do carries the step out. Directories that are missing are made.
func (s step) do(files sandbox.Streams) error {
	switch {
	case s.after == nil:
		return files.Remove(s.at.real)
	case s.info != nil:
		return files.Replace(s.at.real, s.after, s.info)
	}
	if err := files.MakeDir(filepath.Dir(s.at.real)); err != nil {
		return err
	}
	err := files.Create(s.at.real, s.after)
	if err == nil && s.like != nil {
		err = files.Replace(s.at.real, s.after, s.like)
	}
	return err
}

// undo restores what was there. Directories that were made stay.
func (s step) undo(files sandbox.Streams) error {
	switch {
	case s.info == nil:
		return files.Remove(s.at.real)
	case s.after == nil:
		if err := files.Create(s.at.real, s.before); err != nil {
			return err
		}
	}
	return files.Replace(s.at.real, s.before, s.info)
}

// planOne says what to write for one change, and checks that it can be.
func (p *Patcher) planOne(c patch.Change) (steps []step, done fileChange, fuzz int, err error) {
	at, err := p.at(c.Path)
	if err != nil {
		return nil, done, 0, err
	}
	done.Type = c.Kind
	if c.Kind == patch.Add {
		return p.planAdd(at, c)
	}
	f, err := readText(at)
	if err != nil {
		return nil, done, 0, err
	}
	done.Old = &f.content
	if c.Kind == patch.Delete {
		return []step{{at: at, before: f.data, info: f.info}}, done, 0, nil
	}
	now, fuzz, err := c.Apply(f.content)
	if err != nil {
		return nil, done, 0, refusef("%v", err)
	}
	if err := unmarked(now, f.content); err != nil {
		return nil, done, 0, err
	}
	data, err := f.encode(now)
	if err != nil {
		return nil, done, 0, refusef("%s: %v.", c.Path, err)
	}
	if len(data) > maxSize {
		return nil, done, 0, tooLarge(c.Path, int64(len(data)))
	}
	if data == nil {
		data = []byte{}
	}
	done.New, done.Move = &now, c.MoveTo
	if c.MoveTo == "" {
		return []step{{at: at, before: f.data, info: f.info, after: data}}, done, fuzz, nil
	}
	target, err := p.free(c.MoveTo)
	if err != nil {
		return nil, done, 0, err
	}
	return []step{{at: target, after: data, like: f.info}, {at: at, before: f.data, info: f.info}}, done, fuzz, nil
}

// planAdd adds a file, or gives one that exists new content.
func (p *Patcher) planAdd(at *place, c patch.Change) ([]step, fileChange, int, error) {
	done := fileChange{Type: c.Kind, New: &c.Content}
	if err := unmarked(c.Content, ""); err != nil {
		return nil, done, 0, err
	}
	s := step{at: at, after: []byte(c.Content)}
	old, info, err := p.files.Read(at.real, maxSize)
	switch {
	case err == nil:
		s.before, s.info, done.Old = old, info, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, done, 0, readable(c.Path, err)
	}
	return []step{s}, done, 0, nil
}

// free is the place of a path at which nothing is.
func (p *Patcher) free(path string) (*place, error) {
	at, err := p.at(path)
	if err != nil {
		return nil, err
	}
	if _, err := p.files.Stat(at.real); err == nil {
		return nil, refusef("%s exists already, so no file can be moved there.", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, readable(path, err)
	}
	return at, nil
}

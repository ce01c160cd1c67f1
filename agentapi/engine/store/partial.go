package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// partialFile says that a copy is being made: events without a base state are then
	// no conversation that was lost.
	partialFile = ".ohgw-partial"
	// removedEvents are the events of a conversation that is being removed.
	removedEvents = ".ohgw-removed"
)

func (d *Dir) partial() error {
	return d.opts.Files.Write(filepath.Join(d.path, partialFile), nil, false)
}

// whole says that the conversation is there.
func (d *Dir) whole() error {
	err := os.Remove(filepath.Join(d.path, partialFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeOwn makes the directory, or takes one over that has no conversation. The lease
// comes first, and says which of several processes that make a conversation goes on.
func (d *Dir) makeOwn(root string) error {
	err := d.opts.Files.Mkdir(d.path)
	was := errors.Is(err, fs.ErrExist)
	switch {
	case was && Exists(root, d.State.ID):
		return ErrExists
	case err != nil && !was:
		return fmt.Errorf("create conversation: %w", err)
	}
	d.lease, err = claim(d.path, d.opts)
	if _, held := errors.AsType[*HeldError](err); held {
		return ErrExists // it is being made
	}
	switch {
	case err == nil && was:
		if err = d.empty(root); err != nil {
			err = errors.Join(err, d.lease.release())
		}
	case err != nil && !was:
		_ = os.Remove(filepath.Join(d.path, leaseLock))
		_ = os.Remove(d.path) // stays if it is not empty: it is another process's
	}
	if err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("create conversation: %w", err)
	}
	return err
}

// empty removes what is in a directory that was found, except for its lease. One with
// a conversation is left as it is.
func (d *Dir) empty(root string) error {
	if Exists(root, d.State.ID) { // another process was quicker
		return ErrExists
	}
	if err := orphaned(d.path); err != nil {
		return err
	}
	found, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, f := range found {
		if name := f.Name(); name != leaseFile && name != leaseLock && name != partialFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.path, name)))
		}
	}
	return errors.Join(err, d.whole())
}

// orphaned returns the damage of a directory without a base state. Events that do not come
// from an unfinished copy are those of a conversation that has lost its base state.
func orphaned(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, partialFile)); err == nil {
		return nil
	}
	found, err := os.ReadDir(filepath.Join(dir, "events"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list events: %w", err)
	}
	for _, f := range found { // those that were set aside, too
		if strings.HasPrefix(f.Name(), "event-") {
			return &DamageError{File: stateFile, Err: fmt.Errorf("there are events: %w", fs.ErrNotExist)}
		}
	}
	return nil
}

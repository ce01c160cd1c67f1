package responses

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Sweep deletes the responses that were last changed before a time. A
// conversation that was made for responses is given to remove once none of them
// is left. It reads all files, so it is for the background.
func (s *Store) Sweep(ctx context.Context, before time.Time, remove func(conversation string) error) error {
	left, over := map[string]bool{}, map[string]bool{}
	var errs []error
	err := s.each(ctx, func(rec *Record, e fs.DirEntry) {
		info, err := e.Info()
		if err != nil {
			return // removed meanwhile
		}
		if info.ModTime().After(before) || s.Live(rec.ID) != nil {
			left[rec.Conversation], left[rec.Origin] = true, true
			return
		}
		if err := s.Delete(rec.ID); err != nil {
			left[rec.Conversation] = true
			errs = append(errs, err)
			return
		}
		over[rec.Conversation] = over[rec.Conversation] || rec.Kept
	})
	if err != nil { // what is left is not known
		return errors.Join(append(errs, err)...)
	}
	for conversation, kept := range over {
		if kept && !left[conversation] {
			errs = append(errs, remove(conversation))
		}
	}
	return errors.Join(errs...)
}

// Forget deletes the responses of a conversation that is gone.
func (s *Store) Forget(ctx context.Context, conversation string) error {
	s.words.forget(conversation)
	var errs []error
	err := s.each(ctx, func(rec *Record, _ fs.DirEntry) {
		if rec.Conversation == conversation {
			errs = append(errs, s.Delete(rec.ID))
		}
	})
	return errors.Join(append(errs, err)...)
}

// each calls f with every record on the disk that can be read.
func (s *Store) each(ctx context.Context, f func(*Record, fs.DirEntry)) error {
	if s.dir == "" {
		return nil
	}
	return filepath.WalkDir(s.dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		id, isRecord := strings.CutSuffix(e.Name(), ".json")
		if !isRecord {
			return nil
		}
		if rec, err := s.Load(id); err == nil { // what cannot be read is left for its owner
			f(rec, e)
		}
		return nil
	})
}

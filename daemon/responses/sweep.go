package responses

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Sweep deletes the responses that were last changed before a time. A
// conversation that was made for responses is given to remove once none of them
// is left. It reads all files, so it is for the background.
func (s *Store) Sweep(ctx context.Context, before time.Time, remove func(conversation string) error) error {
	left, over := map[string]bool{}, map[string]bool{}
	var errs []error
	err := s.each(ctx, func(rec *Record, changed time.Time) {
		if changed.After(before) || s.Live(rec.ID) != nil {
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
	err := s.each(ctx, func(rec *Record, _ time.Time) {
		if rec.Conversation == conversation {
			errs = append(errs, s.Delete(rec.ID))
		}
	})
	return errors.Join(append(errs, err)...)
}

// each calls f with every record that can be read, and when it was changed; in
// memory, when it was made.
func (s *Store) each(ctx context.Context, f func(rec *Record, changed time.Time)) error {
	if s.dir == "" {
		s.mu.Lock()
		names := slices.Sorted(maps.Keys(s.memory))
		s.mu.Unlock()
		for _, name := range names {
			id, isRecord := strings.CutSuffix(name, ".json")
			if rec, err := s.Load(id); isRecord && err == nil {
				f(rec, rec.Created)
			}
		}
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
		info, goneErr := e.Info() // removed meanwhile
		rec, readErr := s.Load(id)
		if goneErr == nil && readErr == nil { // what cannot be read is left for its owner
			f(rec, info.ModTime())
		}
		return nil
	})
}

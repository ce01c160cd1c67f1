package responses

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"
)

// Sweep deletes the responses that were last changed before a time. A
// conversation that was made for responses is given to remove once none of them
// is left. It reads all files, so it is for the background.
func (s *Store) Sweep(ctx context.Context, before time.Time, remove func(conversation string) error) error {
	left, over := map[string]bool{}, map[string]bool{}
	var errs []error
	err := s.each(ctx, before, func(rec *Record, changed time.Time) {
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
	err := s.each(ctx, time.Time{}, func(rec *Record, _ time.Time) {
		if rec.Conversation == conversation {
			errs = append(errs, s.Delete(rec.ID))
		}
	})
	return errors.Join(append(errs, err)...)
}

// each calls f with every record that can be read, and with the time of its last
// change; in memory, of its creation. It deletes records that were damaged before
// a time: they cannot be read. It does not change what a newer ohgw wrote.
func (s *Store) each(ctx context.Context, before time.Time, f func(rec *Record, changed time.Time)) error {
	return s.files.Each(ctx, func(name string, changed time.Time) error {
		id, isRecord := strings.CutSuffix(path.Base(name), recordKind)
		if !isRecord {
			return nil
		}
		rec, err := s.Load(id)
		switch {
		case err == nil && changed.IsZero():
			f(rec, rec.Created)
		case err == nil:
			f(rec, changed)
		case errors.Is(err, ErrDamaged) && changed.Before(before):
			return s.Delete(id)
		}
		return nil
	})
}

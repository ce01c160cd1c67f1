package pg

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// shelfAgain is when a document is looked at again, told of a change or not.
	shelfAgain = 500 * time.Millisecond
	// shelfTrust is how long a document is believed that cannot be looked at: a token
	// that was revoked meanwhile must not work for ever.
	shelfTrust = 30 * time.Second
)

// Shelf is a document that all gateways read from memory: a change by one of them is
// known to the others as soon as they are told, and after shelfAgain at the latest.
type Shelf struct {
	r    *Replica
	name string
	told chan struct{}

	looking sync.Mutex // held while Renew asks

	mu       sync.Mutex
	data     []byte
	revision int64
	looked   time.Time // when it was last known to be current
	err      error     // of the last look
}

// Shelf opens a document, and keeps it current until the gateway ends.
func (r *Replica) Shelf(ctx context.Context, name string) (*Shelf, error) {
	s := &Shelf{r: r, name: name, told: make(chan struct{}, 1), revision: -1}
	if _, err := r.db.query(ctx, makeDocument, name); err != nil {
		return nil, err
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shelves = append(r.shelves, s)
	r.wg.Go(func() { s.keep(r.life) })
	return s, nil
}

// keep looks at the document until life ends.
func (s *Shelf) keep(life context.Context) {
	ticker := time.NewTicker(shelfAgain)
	defer ticker.Stop()
	for {
		select {
		case <-s.told:
		case <-ticker.C:
		case <-life.Done():
			return
		}
		if err := s.look(life); err != nil && life.Err() == nil {
			s.r.cfg.Logger.Debug("cannot read a shared document", "document", s.name, "err", err)
		}
	}
}

// look reads the document if it has changed.
func (s *Shelf) look(ctx context.Context) error {
	began := s.r.db.now()
	s.mu.Lock()
	have := s.revision
	s.mu.Unlock()
	rows, err := s.r.db.query(ctx, "SELECT revision, CASE WHEN revision <> $2 THEN data END FROM documents WHERE name = $1", s.name, have)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: the document %s is gone", ErrSchema, s.name)
	}
	if s.err = err; err != nil {
		return err
	}
	s.looked = began
	if now := rows[0].number(0); now != have && now > s.revision {
		s.revision, s.data = now, rows[0].bytes(1)
	}
	return nil
}

// Read is the document, with a number that is another after each change. It is an
// error where the database could not be asked for longer than shelfTrust.
func (s *Shelf) Read() (data []byte, revision int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r.db.now().Sub(s.looked) > shelfTrust {
		return nil, 0, fmt.Errorf("%s could not be read for %v: %w", s.name, shelfTrust, s.err)
	}
	return s.data, s.revision, nil
}

// Renew makes Read give the document as it is now, or later. Those who ask at the same
// time wait for one question, which began after theirs.
func (s *Shelf) Renew() error {
	came := s.r.db.now()
	s.looking.Lock()
	defer s.looking.Unlock()
	s.mu.Lock()
	fresh := s.looked.After(came)
	s.mu.Unlock()
	if fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.r.life, dialTimeout)
	defer cancel()
	return s.look(ctx)
}

// Change replaces the document by what edit makes of it. Its own gateway has the change
// when it returns.
func (s *Shelf) Change(ctx context.Context, edit func(data []byte) ([]byte, error)) error {
	err := s.r.db.Document(s.name).change(ctx, edit)
	if err != nil {
		return err
	}
	return s.look(ctx)
}

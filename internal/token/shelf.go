package token

import (
	"context"

	"github.com/ohgw/ohgw/internal/paths"
)

// Shelf keeps the document of the tokens where several machines share it, in place
// of the files of a directory.
type Shelf interface {
	// Read is the document as it is now, with a number that is another after each
	// change; nil: there is none. It is called for every request of a client.
	Read() (data []byte, revision int64, err error)
	// Renew makes Read give what is there now. It is called where a client shows a token
	// that Read does not have: it may have been made a moment ago, on another machine.
	Renew() error
	// Change replaces the document by what edit makes of it. Nobody else changes it
	// meanwhile. An error of edit leaves it as it is.
	Change(ctx context.Context, edit func(data []byte) ([]byte, error)) error
}

// shelved are the tokens of the shelf, decoded once for each change.
func (s *Store) shelved() ([]entry, error) {
	data, revision, err := s.shelf.Read()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.decoded && s.revision == revision {
		return s.entries, nil
	}
	doc, err := decodeShelf(data)
	if err != nil {
		return nil, err
	}
	s.entries, s.revision, s.decoded = doc.entries, revision, true
	return s.entries, nil
}

// changeShelf is change for a shelf.
func (s *Store) changeShelf(ctx context.Context, edit func(*document) error) error {
	if err := paths.MakePrivate(s.dir); err != nil { // for the value of the default token
		return err
	}
	return s.shelf.Change(ctx, func(data []byte) ([]byte, error) {
		doc, err := decodeShelf(data)
		if err == nil {
			err = edit(&doc)
		}
		if err != nil {
			return nil, err
		}
		return doc.encode(), nil
	})
}

func decodeShelf(data []byte) (document, error) {
	if data == nil {
		return document{}, nil
	}
	return decode(data)
}

package pg

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/internal/uuid"
)

// Document is a document that is read from the database each time, for a process that
// is no gateway. It keeps no connection.
type Document struct {
	db   *DB
	name string
}

// Document gives a document. Nothing is asked yet.
func (db *DB) Document(name string) *Document { return &Document{db, name} }

// Read is the document, with a number that is another after each change; nil: there is
// none.
func (d *Document) Read() (data []byte, revision int64, err error) {
	defer d.db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	rows, err := d.db.query(ctx, "SELECT revision, data FROM documents WHERE name = $1", d.name)
	if err != nil || len(rows) == 0 {
		return nil, 0, err
	}
	return rows[0].bytes(1), rows[0].number(0), nil
}

// Change replaces the document by what edit makes of it.
func (d *Document) Change(ctx context.Context, edit func(data []byte) ([]byte, error)) error {
	defer d.db.Close()
	if _, err := d.db.query(ctx, makeDocument, d.name); err != nil {
		return err
	}
	return d.change(ctx, edit)
}

// identityDocument has the name of the state.
const identityDocument = "identity"

// Identity names the state, as no other one: each database has its own from its first
// gateway on. Empty: it had none yet.
func (db *DB) Identity(ctx context.Context) (string, error) {
	rows, err := db.query(ctx, "SELECT data FROM documents WHERE name = $1", identityDocument)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return string(rows[0].bytes(0)), nil
}

// identify gives the state a name if it has none.
func (db *DB) identify(ctx context.Context) error {
	_, err := db.set(ctx, durable, "INSERT INTO documents (name, data) VALUES ($1, $2) ON CONFLICT DO NOTHING", identityDocument, []byte(uuid.New()))
	return err
}

const makeDocument = "INSERT INTO documents (name) VALUES ($1) ON CONFLICT DO NOTHING"

// change changes a document that is there, and tells all gateways.
func (d *Document) change(ctx context.Context, edit func(data []byte) ([]byte, error)) error {
	return d.db.within(ctx, durable, func(tx *conn) error {
		rows, err := tx.query(ctx, "SELECT data FROM documents WHERE name = $1 FOR UPDATE", d.name)
		if err == nil && len(rows) == 0 {
			err = fmt.Errorf("%w: the document %s is gone", ErrSchema, d.name)
		}
		if err != nil {
			return err
		}
		data, err := edit(rows[0].bytes(0))
		if err != nil {
			return err
		}
		if _, err := tx.query(ctx, "UPDATE documents SET data = $2, revision = revision + 1 WHERE name = $1", d.name, data); err != nil {
			return err
		}
		_, err = tx.query(ctx, "SELECT pg_notify('"+channel+"', $1)", "shelf "+d.name)
		return err
	})
}

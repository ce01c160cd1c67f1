package pg

import (
	"context"
	"io/fs"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// Records are records of one kind, as recordfile keeps them in files: each begins with
// a line that has the whole record and grows by a line with each change. They are
// shared by all gateways.
type Records struct {
	db   *DB
	kind string
}

// Records gives the records of a kind.
func (r *Replica) Records(kind string) *Records { return &Records{r.db, kind} }

// recordTime bounds one call: the stores above it know no deadline.
const recordTime = 30 * time.Second

func (s *Records) query(sql string, args ...any) ([]row, error) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	return s.db.query(ctx, sql, append([]any{s.kind}, args...)...)
}

// Read is the content of a record.
func (s *Records) Read(name string) ([]byte, error) {
	return one(s.query("SELECT data FROM records WHERE kind = $1 AND name = $2", name))
}

// Head is the first bytes of a record, at most n.
func (s *Records) Head(name string, n int) ([]byte, error) {
	return one(s.query("SELECT substring(data FOR $3) FROM records WHERE kind = $1 AND name = $2", name, n))
}

func one(rows []row, err error) ([]byte, error) {
	if err == nil && len(rows) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return rows[0].bytes(0), nil
}

const writeSQL = `INSERT INTO records (kind, name, data) VALUES ($1, $2, $3)
	ON CONFLICT (kind, name) DO UPDATE SET data = excluded.data, written = clock_timestamp(), rev = records.rev + 1`

// Write replaces a record, or makes it.
func (s *Records) Write(name string, data []byte) error {
	_, err := s.query(writeSQL, name, append([]byte{}, data...))
	return err
}

// WriteUnsynced is Write whose loss with the database would be harmless.
func (s *Records) WriteUnsynced(name string, data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	_, err := s.db.set(ctx, lazy, writeSQL, s.kind, name, append([]byte{}, data...))
	return err
}

func line(change []byte) []byte { return append(append([]byte{'\n'}, change...), '\n') }

// Append adds a change to a record, as a line without its newline.
func (s *Records) Append(name string, change []byte) error {
	line := line(change)
	_, err := one(s.query("UPDATE records SET data = data || $3, written = clock_timestamp(), rev = rev + 1 WHERE kind = $1 AND name = $2 RETURNING ''::bytea", name, line))
	return err
}

// ReadRevision is Read with the revision of the record, for a change of it.
func (s *Records) ReadRevision(name string) (data []byte, rev int64, err error) {
	rows, err := s.query("SELECT data, rev FROM records WHERE kind = $1 AND name = $2", name)
	if data, err = one(rows, err); err != nil {
		return nil, 0, err
	}
	return data, rows[0].number(1), nil
}

// WriteRevision is Write for a record that nobody has changed since it had a revision;
// 0: that nobody has made. Else it is [recordfile.ErrChanged].
func (s *Records) WriteRevision(name string, data []byte, rev int64) error {
	data = append([]byte{}, data...)
	if rev == 0 {
		return changed(s.query("INSERT INTO records (kind, name, data) VALUES ($1, $2, $3) ON CONFLICT (kind, name) DO NOTHING RETURNING rev", name, data))
	}
	return changed(s.query("UPDATE records SET data = $3, written = clock_timestamp(), rev = rev + 1 WHERE kind = $1 AND name = $2 AND rev = $4 RETURNING rev", name, data, rev))
}

// AppendRevision is Append likewise.
func (s *Records) AppendRevision(name string, change []byte, rev int64) error {
	return changed(s.query("UPDATE records SET data = data || $3, written = clock_timestamp(), rev = rev + 1 WHERE kind = $1 AND name = $2 AND rev = $4 RETURNING rev", name, line(change), rev))
}

func changed(rows []row, err error) error {
	if err == nil && len(rows) == 0 {
		err = recordfile.ErrChanged
	}
	return err
}

// Remove deletes records. Those that do not exist are no error.
func (s *Records) Remove(names ...string) error {
	for _, name := range names {
		if _, err := s.query("DELETE FROM records WHERE kind = $1 AND name = $2", name); err != nil {
			return err
		}
	}
	return nil
}

// Each calls f with the name of every record in the order of their names, and with the
// time when it was last written. f may remove records.
func (s *Records) Each(ctx context.Context, f func(name string, written time.Time) error) error {
	for last := ""; ; {
		rows, err := s.db.query(ctx, `SELECT name, extract(epoch FROM written) FROM records WHERE kind = $1 AND name > $2 ORDER BY name LIMIT $3`, s.kind, last, maxSwept)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			last = r.text(0)
			if err := f(last, r.moment(1)); err != nil {
				return err
			}
		}
		if len(rows) < maxSwept {
			return ctx.Err()
		}
	}
}

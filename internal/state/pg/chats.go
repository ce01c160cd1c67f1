package pg

import (
	"context"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
)

const (
	// aliveTime is how long a chat counts as saved a moment ago: its request is about to claim
	// its run.
	aliveTime = time.Minute
	// maxFound is how many of what has a word are looked at.
	maxFound = 50
)

// Chats are the chats of all gateways, as one of them sees them.
type Chats struct {
	r  *Replica
	db *DB
}

var _ chats.Store = (*Chats)(nil)

// Chats returns the chats of all gateways.
func (r *Replica) Chats() *Chats { return &Chats{r, r.db} }

// Self names this gateway.
func (s *Chats) Self() string { return strconv.FormatInt(s.r.id, 10) }

// Load returns the record of a chat with its revision, and no record where that is have.
func (s *Chats) Load(ctx context.Context, key string, have int64) (record []byte, rev int64, err error) {
	rows, err := s.db.query(ctx, "SELECT rev, CASE WHEN rev <> $2 THEN record END FROM chats WHERE key = $1", key, have)
	if err != nil || len(rows) == 0 {
		return nil, 0, err
	}
	return rows[0].bytes(1), rows[0].number(0), nil
}

// Save stores a record in place of the one with this revision. A crash of the database may take
// the last ones back: a chat repeats to its conversation what that does not have.
func (s *Chats) Save(ctx context.Context, key string, record []byte, rev int64) (now int64, err error) {
	sql, args := "UPDATE chats SET record = $2, rev = rev + 1, used_at = clock_timestamp() WHERE key = $1 AND rev = $3 RETURNING rev", []any{key, record, rev}
	if rev == 0 {
		sql, args = "INSERT INTO chats (key, record) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING rev", args[:2]
	}
	rows, err := s.db.set(ctx, lazy, sql, args...)
	if err == nil && len(rows) == 0 {
		err = chats.ErrChanged
	}
	if err != nil {
		return 0, err
	}
	return rows[0].number(0), nil
}

// Alive reports whether a gateway may still have a run in a conversation of a chat.
func (s *Chats) Alive(ctx context.Context, gateway, key, conversation string) (bool, error) {
	id, err := strconv.ParseInt(gateway, 10, 32)
	if err != nil {
		return false, nil //nolint:nilerr // there is no such gateway
	}
	rows, err := s.db.query(ctx, "SELECT NOT "+deadSQL+` AND (EXISTS (SELECT FROM runs WHERE conv = $4 AND phase < 3)
			OR EXISTS (SELECT FROM chats WHERE key = $5 AND used_at > now() - make_interval(secs => $6)))
		FROM (SELECT $3::bigint AS owner) r`, s.r.id, s.r.cfg.Lease, id, conversation, key, aliveTime)
	return err == nil && rows[0].isTrue(0), err
}

// AddLoose keeps a conversation without a chat for a time.
func (s *Chats) AddLoose(ctx context.Context, place string, words []string, record []byte, keep time.Duration) error {
	_, err := s.db.set(ctx, lazy, "INSERT INTO loose (place, words, record, until) VALUES ($1, $2::text[], $3, clock_timestamp() + make_interval(secs => $4))", place, array(words), record, keep)
	return err
}

// FindLoose finds those that have one of the words, the newest first.
func (s *Chats) FindLoose(ctx context.Context, place string, words []string) (found []chats.Loose, err error) {
	rows, err := s.db.query(ctx, "SELECT id, record FROM loose WHERE place = $1 AND words && $2::text[] AND until > now() ORDER BY id DESC LIMIT $3", place, array(words), maxFound)
	for _, at := range rows {
		found = append(found, chats.Loose{ID: at.number(0), Record: at.bytes(1)})
	}
	return found, err
}

// TakeLoose takes one out; false: another gateway has.
func (s *Chats) TakeLoose(ctx context.Context, id int64) (bool, error) {
	rows, err := s.db.set(ctx, lazy, "DELETE FROM loose WHERE id = $1 RETURNING id", id)
	return len(rows) > 0, err
}

// Sweep forgets chats that were not saved for so long, and conversations without a chat whose
// time is over.
func (s *Chats) Sweep(ctx context.Context, unused time.Duration) error {
	err := s.db.sweep(ctx, "DELETE FROM chats WHERE key IN (SELECT key FROM chats WHERE used_at < now() - make_interval(secs => $2) LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1", unused)
	if err != nil {
		return err
	}
	return s.db.sweep(ctx, "DELETE FROM loose WHERE id IN (SELECT id FROM loose WHERE until < now() LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1")
}

// sweep runs a statement that deletes as many rows as its first parameter says, until none is
// left.
func (db *DB) sweep(ctx context.Context, sql string, args ...any) error {
	for {
		rows, err := db.set(ctx, lazy, sql, append([]any{maxSwept}, args...)...)
		if err != nil || len(rows) < maxSwept {
			return err
		}
	}
}

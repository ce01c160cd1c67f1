package pg

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
)

// Chats keeps the chats of all gateways; see [chats.Store].
type Chats struct{ r *Replica }

// Chats gives the chats.
func (r *Replica) Chats() *Chats { return &Chats{r} }

// Self names this gateway.
func (s *Chats) Self() string { return strconv.FormatInt(s.r.id, 10) }

// Load is the record of a chat with its revision.
func (s *Chats) Load(ctx context.Context, key string, have int64) (record []byte, rev int64, err error) {
	rows, err := s.r.db.query(ctx, "SELECT rev, CASE WHEN rev <> $2 THEN record END FROM chats WHERE key = $1", key, have)
	if err != nil || len(rows) == 0 {
		return nil, 0, err
	}
	return rows[0].bytes(1), rows[0].number(0), nil
}

// Save stores a record in place of the one with this revision. Losing the last ones with
// the database is harmless: a chat tells its conversation again what it does not have.
func (s *Chats) Save(ctx context.Context, key string, record []byte, rev int64) (now int64, err error) {
	sql, args := "UPDATE chats SET record = $2, rev = rev + 1, used_at = clock_timestamp() WHERE key = $1 AND rev = $3 RETURNING rev", []any{key, record, rev}
	if rev == 0 {
		sql, args = "INSERT INTO chats (key, record) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING rev", args[:2]
	}
	rows, err := s.r.db.set(ctx, lazy, sql, args...)
	if err == nil && len(rows) == 0 {
		err = chats.ErrChanged
	}
	if err != nil {
		return 0, err
	}
	return rows[0].number(0), nil
}

// aliveTime is how long a chat counts as saved a moment ago: its request is about to ask
// for its run.
const aliveTime = time.Minute

// Alive reports whether a gateway may still have a run in a conversation of a chat.
func (s *Chats) Alive(ctx context.Context, gateway, key, conversation string) (bool, error) {
	id, err := strconv.ParseInt(gateway, 10, 32)
	if err != nil {
		return false, nil //nolint:nilerr // there is no such gateway
	}
	rows, err := s.r.db.query(ctx, "SELECT NOT "+deadSQL+` AND (EXISTS (SELECT FROM runs WHERE conv = $4 AND phase < 3)
			OR EXISTS (SELECT FROM chats WHERE key = $5 AND used_at > now() - make_interval(secs => $6)))
		FROM (SELECT $3::bigint AS owner) r`, s.r.id, s.r.cfg.Lease, id, conversation, key, aliveTime)
	return err == nil && rows[0].isTrue(0), err
}

// words is a list for a column of texts. None of them has a character that is special
// there.
func words(list []string) string { return "{" + strings.Join(list, ",") + "}" }

// maxFound is how many of what has a word are looked at.
const maxFound = 50

// AddLoose keeps a conversation without a chat for a time.
func (s *Chats) AddLoose(ctx context.Context, place string, list []string, record []byte, keep time.Duration) error {
	_, err := s.r.db.set(ctx, lazy, "INSERT INTO loose (place, words, record, until) VALUES ($1, $2::text[], $3, clock_timestamp() + make_interval(secs => $4))", place, words(list), record, keep)
	return err
}

// FindLoose finds those that have one of the words, the newest first.
func (s *Chats) FindLoose(ctx context.Context, place string, list []string) (found []chats.Loose, err error) {
	rows, err := s.r.db.query(ctx, "SELECT id, record FROM loose WHERE place = $1 AND words && $2::text[] AND until > now() ORDER BY id DESC LIMIT $3", place, words(list), maxFound)
	for _, at := range rows {
		found = append(found, chats.Loose{ID: at.number(0), Record: at.bytes(1)})
	}
	return found, err
}

// TakeLoose takes one out; false: another gateway has.
func (s *Chats) TakeLoose(ctx context.Context, id int64) (bool, error) {
	rows, err := s.r.db.query(ctx, "DELETE FROM loose WHERE id = $1 RETURNING id", id)
	return len(rows) > 0, err
}

// Sweep forgets chats that were not saved for so long, and conversations without a chat
// whose time is over.
func (s *Chats) Sweep(ctx context.Context, unused time.Duration) error {
	for {
		rows, err := s.r.db.query(ctx, `DELETE FROM chats WHERE key IN (SELECT key FROM chats WHERE used_at < now() - make_interval(secs => $1) LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING key`, unused, maxSwept)
		if err != nil {
			return err
		}
		if len(rows) < maxSwept {
			break
		}
	}
	_, err := s.r.db.query(ctx, "DELETE FROM loose WHERE until < now()")
	return err
}

package pg

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/responses"
)

// Responses are the places after responses, and responses by what was said; see
// [responses.Claims] and [responses.Words].
type Responses struct{ r *Replica }

// Responses gives what gateways share of responses.
func (r *Replica) Responses() responses.Shared {
	s := &Responses{r}
	return responses.Shared{Files: r.Records("responses"), Claims: s, Words: s}
}

// Claim reserves the place after a response. One of a gateway that is dead is free.
func (s *Responses) Claim(ctx context.Context, response string) (bool, error) {
	rows, err := s.r.db.query(ctx, "INSERT INTO claims AS r (response, owner) VALUES ($3, $1) ON CONFLICT (response) DO UPDATE SET owner = $1 WHERE "+deadSQL+" RETURNING response", s.r.id, s.r.cfg.Lease, response)
	return len(rows) > 0, err
}

// Claimed reports whether a gateway that lives has the place after a response.
func (s *Responses) Claimed(ctx context.Context, response string) (bool, error) {
	rows, err := s.r.db.query(ctx, "SELECT FROM claims r WHERE response = $3 AND NOT "+deadSQL, s.r.id, s.r.cfg.Lease, response)
	return len(rows) > 0, err
}

// Release gives a place back.
func (s *Responses) Release(ctx context.Context, response string) error {
	_, err := s.r.db.query(ctx, "DELETE FROM claims WHERE response = $1 AND owner = $2", response, s.r.id)
	return err
}

// Add notes a response by what was said up to its end.
func (s *Responses) Add(ctx context.Context, e responses.Spoken) error {
	_, err := s.r.db.set(ctx, lazy, `INSERT INTO spoken (id, token, conv, words, record) VALUES ($1, $2, $3, $4::text[], $5)
		ON CONFLICT (id) DO UPDATE SET words = excluded.words, record = excluded.record`, e.ID, e.Token, e.Conversation, words(e.Words), e.Record)
	return err
}

// Find finds those of a token that have a word, the newest first.
func (s *Responses) Find(ctx context.Context, token, word string, most time.Duration) (found []responses.Spoken, err error) {
	rows, err := s.r.db.query(ctx, `SELECT id, conv, record, next, extract(epoch FROM clock_timestamp() - ended_at) FROM spoken
		WHERE token = $1 AND words @> $2::text[] AND ended_at > now() - make_interval(secs => $3) ORDER BY ended_at DESC LIMIT $4`, token, words([]string{word}), most, maxFound)
	for _, at := range rows {
		found = append(found, responses.Spoken{
			ID: at.text(0), Token: token, Conversation: at.text(1), Record: at.bytes(2), Next: at.text(3), Age: time.Duration(at.float(4) * float64(time.Second)),
		})
	}
	return found, err
}

// Follow notes that a response is gone on from in its conversation.
func (s *Responses) Follow(ctx context.Context, token, response, word, conversation, next string) (bool, error) {
	rows, err := s.r.db.query(ctx, "UPDATE spoken SET next = CASE WHEN conv = $4 THEN $5 ELSE next END WHERE id = $2 AND token = $1 AND words @> $3::text[] RETURNING id",
		token, response, words([]string{word}), conversation, next)
	return len(rows) > 0, err
}

// Forget forgets the responses of a conversation that is gone.
func (s *Responses) Forget(ctx context.Context, conversation string) error {
	_, err := s.r.db.query(ctx, "DELETE FROM spoken WHERE conv = $1", conversation)
	return err
}

// Sweep forgets those that ended so long ago, and the places of gateways that are gone.
func (s *Responses) Sweep(ctx context.Context, most time.Duration) error {
	for {
		rows, err := s.r.db.query(ctx, "DELETE FROM spoken WHERE id IN (SELECT id FROM spoken WHERE ended_at < now() - make_interval(secs => $1) LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id", most, maxSwept)
		if err != nil {
			return err
		}
		if len(rows) < maxSwept {
			break
		}
	}
	_, err := s.r.db.query(ctx, "DELETE FROM claims c WHERE NOT EXISTS (SELECT FROM replicas o WHERE o.id = c.owner)")
	return err
}

// Chore reports whether this gateway is to do what one does for all: the last one has
// done it so long ago.
func (r *Replica) Chore(ctx context.Context, name string, every time.Duration) (bool, error) {
	rows, err := r.db.query(ctx, `INSERT INTO chores AS c (name, done_at) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET done_at = now()
		WHERE c.done_at <= now() - make_interval(secs => $2) RETURNING name`, name, every)
	return len(rows) > 0, err
}

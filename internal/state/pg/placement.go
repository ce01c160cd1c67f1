package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/uuid"
)

// lookClass is the class of the advisory locks under which gateways choose which of them looks at
// a server.
const lookClass = 0x6f69

// Placement is what all gateways note of a pool of agent-servers.
type Placement struct{ db *DB }

var _ placement.Placer = (*Placement)(nil)

// Placement returns the notes of the pool.
func (db *DB) Placement() *Placement { return &Placement{db} }

// Join makes servers known.
func (p *Placement) Join(ctx context.Context, servers []placement.Server) error {
	for _, s := range servers {
		_, err := p.db.query(ctx, `INSERT INTO servers (id, url, slots) VALUES ($1, $2, $3)
			ON CONFLICT (id) DO UPDATE SET url = excluded.url, slots = excluded.slots WHERE (servers.url, servers.slots) IS DISTINCT FROM (excluded.url, excluded.slots)`,
			s.Name, s.URL, s.Slots)
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSQL counts the conversations of each server that have a run.
const loadSQL = `SELECT p.server, count(DISTINCT r.conv) AS n FROM runs r JOIN placements p ON p.conv = r.conv WHERE r.phase < 3 GROUP BY p.server`

// Servers lists what is known.
func (p *Placement) Servers(ctx context.Context) ([]placement.Server, error) {
	rows, err := p.db.query(ctx, `SELECT s.id, s.url, s.state, s.slots, coalesce(l.n, 0), extract(epoch FROM s.checked_at), s.error
		FROM servers s LEFT JOIN (`+loadSQL+`) l ON l.server = s.id ORDER BY s.id COLLATE "C"`)
	if err != nil {
		return nil, err
	}
	list := make([]placement.Server, 0, len(rows))
	for _, r := range rows {
		list = append(list, placement.Server{
			Name: r.text(0), URL: r.text(1), State: agentapi.MemberState(r.text(2)), Slots: int(r.number(3)), Runs: int(r.number(4)), Checked: r.moment(5), Err: r.text(6),
		})
	}
	return list, nil
}

// Drain stops new conversations for a server at every gateway, or lets it have them again. Whether
// a server that is up again answers, the next look shows.
func (p *Placement) Drain(ctx context.Context, server string, on bool) error {
	state := agentapi.MemberUp
	if on {
		state = agentapi.MemberDraining
	}
	rows, err := p.db.query(ctx, "UPDATE servers SET state = $2, misses = 0 WHERE id = $1 RETURNING id", server, state)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("drain %s: %w", server, placement.ErrUnknown)
	}
	return err
}

// placeSQL chooses among the candidates that are up by chance, weighted by their free slots:
// gateways that place at the same time do not all choose the same one. Where all are full it is
// the one with the smallest load. The larger of both counts holds, since the caller may know of
// runs that the ledger does not have. A server has as many slots as it has room for, if that is
// known.
const placeSQL = `WITH there AS (SELECT server FROM placements WHERE conv = $1),
	candidates AS (SELECT s.id, CASE WHEN c.room > 0 THEN least(c.room, s.slots) ELSE s.slots END AS slots, greatest(c.runs, coalesce(l.n, 0)) AS runs
		FROM unnest($2::text[], $3::int[], $4::int[]) AS c (id, runs, room) JOIN servers s ON s.id = c.id LEFT JOIN (` + loadSQL + `) l ON l.server = s.id
		WHERE s.state = 'up'),
	made AS (INSERT INTO placements (conv, server)
		SELECT $1, id FROM candidates WHERE NOT EXISTS (SELECT FROM there)
		ORDER BY CASE WHEN runs < slots THEN -ln(1 - random()) / (slots - runs) ELSE 1e6 + runs::float / greatest(slots, 1) END LIMIT 1
		ON CONFLICT (conv) DO UPDATE SET server = placements.server RETURNING server)
	SELECT server FROM there UNION ALL SELECT server FROM made LIMIT 1`

// Place returns the server of a conversation, and notes one where there is no note. The note may be
// lost with the database if no run began in the conversation: before that, a commit waits for the
// disk, and this one with it.
func (p *Placement) Place(ctx context.Context, conversation string, among []placement.Candidate) (server string, err error) {
	if !isUUID(conversation) {
		return "", fmt.Errorf("place conversation %q: %w", conversation, uuid.ErrMalformed)
	}
	names, runs, rooms := make([]string, 0, len(among)), make([]int, 0, len(among)), make([]int, 0, len(among))
	for _, c := range among {
		names, runs, rooms = append(names, c.Name), append(runs, c.Runs), append(rooms, c.Room)
	}
	rows, err := p.db.set(ctx, lazy, placeSQL, conversation, array(names), array(runs), array(rooms))
	if err == nil && len(rows) == 0 {
		err = placement.ErrNone
	}
	if err != nil {
		return "", err
	}
	return rows[0].text(0), nil
}

// Put notes where a conversation is.
func (p *Placement) Put(ctx context.Context, conversation, server string) error {
	if !isUUID(conversation) {
		return fmt.Errorf("note where conversation %q is: %w", conversation, uuid.ErrMalformed)
	}
	_, err := p.db.query(ctx, "INSERT INTO placements (conv, server) VALUES ($1, $2) ON CONFLICT (conv) DO UPDATE SET server = excluded.server", conversation, server)
	return err
}

// Find returns the server of a conversation; "" for none.
func (p *Placement) Find(ctx context.Context, conversation string) (string, error) {
	if !isUUID(conversation) {
		return "", nil
	}
	rows, err := p.db.query(ctx, "SELECT server FROM placements WHERE conv = $1", conversation)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].text(0), nil
}

// Remove drops the note of a conversation.
func (p *Placement) Remove(ctx context.Context, conversation, server string) error {
	if !isUUID(conversation) {
		return nil
	}
	_, err := p.db.query(ctx, "DELETE FROM placements WHERE conv = $1 AND server = $2", conversation, server)
	return err
}

func isUUID(id string) bool {
	canonical, err := uuid.Parse(id)
	return err == nil && canonical == id
}

// dueAfter is after how long a server is looked at again. Gateways tick each Interval, at
// different times.
const dueAfter = placement.Interval - time.Second

// Due reports whether this gateway is the one to look at a server now. The lock is held for the
// statement alone: a server that hangs keeps no connection.
func (p *Placement) Due(ctx context.Context, server string) (due bool, err error) {
	rows, err := p.db.set(ctx, lazy, `UPDATE servers SET checked_at = clock_timestamp() WHERE id = $1
		AND coalesce(checked_at, '-infinity') < clock_timestamp() - make_interval(secs => $2) AND pg_try_advisory_xact_lock($3::int, hashtext($1)) RETURNING id`, server, dueAfter, lookClass)
	return len(rows) > 0, err
}

// Seen notes how a server answered.
func (p *Placement) Seen(ctx context.Context, server, failed string) error {
	_, err := p.db.set(ctx, lazy, `UPDATE servers SET checked_at = clock_timestamp(), error = $2,
		misses = CASE WHEN $2 = '' THEN 0 ELSE misses + 1 END,
		state = CASE WHEN state = 'drain' THEN 'drain' WHEN $2 = '' THEN 'up' WHEN misses + 1 >= $3 THEN 'lost' ELSE state END
		WHERE id = $1`, server, failed, placement.MaxMisses)
	return err
}

package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Sending notes where a turn begins, before anything of it is sent. With a key the note is on the
// database's disk when it returns.
func (l *Ledger) Sending(ctx context.Context, t ledger.Ticket, base turn.Baseline, request []byte, keyed bool) error {
	if err := l.r.live(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(base)
	if err != nil {
		return fmt.Errorf("write the baseline of run %d: %w", t.Run, err)
	}
	// The lock waits for a late run that is being stopped; see Started.
	rows, err := l.db.set(ctx, durability(keyed), `WITH c AS MATERIALIZED (SELECT c.id FROM conversations c JOIN runs r ON r.conv = c.id WHERE r.id = $1 FOR UPDATE OF c)
		UPDATE runs r SET phase = 1, baseline = $3, request = coalesce($4, r.request) FROM c
		WHERE r.conv = c.id AND r.id = $1 AND r.epoch = $2 AND r.phase = 0 AND r.stop = '' AND r.slot IS NOT NULL AND NOT `+aheadSQL+` RETURNING r.id`,
		t.Run, t.Epoch, data, request)
	if err == nil && len(rows) == 0 {
		err = l.whyNot(ctx, t)
	}
	return err
}

// whyNot returns why a run cannot be sent: a client has stopped it, or it is another gateway's.
func (l *Ledger) whyNot(ctx context.Context, t ledger.Ticket) error {
	rows, err := l.db.query(ctx, "SELECT FROM runs WHERE id = $1 AND epoch = $2 AND phase = 0 AND stop <> ''", t.Run, t.Epoch)
	switch {
	case err != nil:
		return err
	case len(rows) > 0:
		return ledger.ErrStopped
	}
	return ledger.ErrFenced
}

// Secure waits until all that was noted before is on the database's disk. The message is there
// only for its commit.
func (l *Ledger) Secure(ctx context.Context) error {
	_, err := l.db.set(ctx, durable, "SELECT pg_logical_emit_message(true, 'ohgw', '')")
	return err
}

// Running makes sure, between a message and its run, that the run is still the caller's: it is the
// fence.
func (l *Ledger) Running(ctx context.Context, t ledger.Ticket) error {
	if !fences {
		return nil
	}
	if err := l.r.live(ctx); err != nil {
		return err
	}
	return l.note(ctx, "UPDATE runs SET phase = 2 WHERE id = $1 AND epoch = $2 AND phase IN (1, 2) RETURNING id", t.Run, t.Epoch)
}

// note changes a run of the caller's: a statement that changes nothing is ErrFenced.
func (l *Ledger) note(ctx context.Context, sql string, args ...any) error {
	rows, err := l.db.set(ctx, lazy, sql, args...)
	if err == nil && len(rows) == 0 {
		err = ledger.ErrFenced
	}
	return err
}

// Started looks, once the run was started, whether it is still the caller's. A gateway that was
// frozen after Running may have started what another one has brought to its end meanwhile, and
// then no gateway looks after the run. Started stops that with interrupt, once the other has
// ended it, and before a next run of the conversation begins. It returns ErrStopped where a client
// has stopped the run meanwhile.
func (l *Ledger) Started(ctx context.Context, t ledger.Ticket, interrupt func(context.Context) error) error {
	rows, err := l.db.query(ctx, "SELECT conv, epoch = $2 AND phase < 3, stop <> '' FROM runs WHERE id = $1", t.Run, t.Epoch)
	switch {
	case err != nil || len(rows) == 0: // or a crash of the database took it along: no other gateway knows of the run
		return err
	case rows[0].isTrue(1) && rows[0].isTrue(2):
		return ledger.ErrStopped
	case rows[0].isTrue(1):
		return nil
	}
	ch, take := l.r.bells.hang(t.Run)
	defer take()
	for {
		settled, err := l.settle(ctx, t.Run, rows[0].text(0), interrupt)
		if err == nil && !settled {
			err = wait(ctx, ch)
		}
		if err != nil || settled {
			return errors.Join(ledger.ErrFenced, err)
		}
	}
}

// settle interrupts what a late start has begun, if the run is over and no next one goes on. It
// reports whether the run is over.
func (l *Ledger) settle(ctx context.Context, run int64, conversation string, interrupt func(context.Context) error) (over bool, err error) {
	err = l.db.within(ctx, lazy, func(tx *conn) error {
		if _, err := tx.query(ctx, "SELECT FROM conversations WHERE id = $1 FOR UPDATE", conversation); err != nil {
			return err
		}
		now, err := tx.query(ctx, "SELECT EXISTS (SELECT FROM runs WHERE id = $1 AND phase < 3), EXISTS (SELECT FROM runs WHERE conv = $2 AND id <> $1 AND phase IN (1, 2))", run, conversation)
		if err != nil {
			return err
		}
		if over = !now[0].isTrue(0); over && !now[0].isTrue(1) {
			return interrupt(ctx)
		}
		return nil
	})
	return over, err
}

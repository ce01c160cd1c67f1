package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// mirrorAgain is when it is looked again for the run of another gateway.
	mirrorAgain = 250 * time.Millisecond
	// mirrorRest is how long the log of a run that is over may take to be read.
	mirrorRest = 5 * time.Second
)

// accompany shows the run of another gateway until that is over, or this gateway's:
// then it is not over, and the job goes on with it.
func (j *job) accompany(res *turn.Result) (over bool, err error) {
	if !j.req.spectator {
		j.watched()
	}
	defer j.unwatched()
	ctx, stop := context.WithCancel(j.life.ctx)
	defer stop()
	read := make(chan struct{})
	go func() {
		defer close(read)
		j.m.cfg.guard(j.id, func() { j.mirror(ctx) })
	}()
	f, err := j.awaitEnd()
	if err == nil && f.Kind == ledger.Closed {
		timer := time.NewTimer(mirrorRest)
		defer timer.Stop()
		select {
		case <-read:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	stop()
	<-read
	if err != nil {
		return true, j.early(explained(err))
	}
	j.follow = j.share.adopt(f)
	switch {
	case j.isReplay():
	case !j.req.spectator || !j.share.own.Load():
		return false, nil
	case j.follow == nil: // its request is gone with its gateway
		return true, &earlyError{ErrInterrupted}
	default:
		j.unwatch(j.share.about.Detach)
		return false, nil
	}
	*res, err = j.follow.outcome()
	if j.share.echo.shown.Len() == 0 && res.Answer != "" && j.req.Form == nil {
		j.publish(turn.Update{Kind: turn.Text, Text: res.Answer})
	}
	return true, err
}

// awaitEnd waits until the run is over, or this gateway's. While the ledger is away,
// nobody can tell.
func (j *job) awaitEnd() (ledger.Found, error) {
	for {
		f, err := j.m.cfg.Ledger.Await(j.life.ctx, j.share.run)
		if cause := context.Cause(j.life.ctx); err != nil && cause != nil {
			return f, cause
		}
		if err == nil || errors.Is(err, ledger.ErrFenced) {
			return f, err
		}
		if !rest(j.life.ctx, ledgerAgain) {
			return f, context.Cause(j.life.ctx)
		}
	}
}

// rest waits, and reports whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// mirror shows the run of another gateway, from its beginning on.
func (j *job) mirror(ctx context.Context) {
	base, ok := j.whenSent(ctx)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		if j.reflect(ctx, base) == nil {
			return
		}
		if !rest(ctx, mirrorAgain) {
			return
		}
	}
}

// whenSent waits until the message of the run is sent, and gives where its turn begins.
func (j *job) whenSent(ctx context.Context) (base turn.Baseline, ok bool) {
	told := false
	defer func() {
		if told {
			j.publish(turn.Update{Kind: turn.Queue})
		}
	}()
	for {
		f, err := j.m.cfg.Ledger.Find(ctx, j.share.run)
		if err == nil && (f.Kind != ledger.There || f.Phase >= ledger.Sending) {
			return f.Baseline, f.Kind == ledger.There || f.Kind == ledger.Closed
		}
		if err == nil && !told {
			told = true
			j.publish(turn.Update{Kind: turn.Queue, Text: "Waiting for a running agent to finish"})
		}
		if errors.Is(err, ledger.ErrFenced) || !rest(ctx, mirrorAgain) {
			return base, false
		}
	}
}

// reflect reads the turn once.
func (j *job) reflect(ctx context.Context, base turn.Baseline) error {
	conv, err := j.m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: j.id, Existing: true})
	if err != nil {
		return err
	}
	defer conv.Close()
	j.delivery.setPlace(conv.Info().Workspace)
	j.share.echo.again()
	_, err = turn.Follow(ctx, conv, base, j.emitNew, j.delivery.isDetailed)
	return err
}

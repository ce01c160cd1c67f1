package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/sharing"
)

const (
	// mirrorAgain is when it is looked again for the run of another gateway.
	mirrorAgain = 250 * time.Millisecond
	// mirrorRest is how long the log of a run that is over may take to be read.
	mirrorRest = 5 * time.Second
	// awaitAgain is when a ledger that does not answer is asked again.
	awaitAgain = time.Second
)

// accompany shows the run of another gateway until that is over, or is this gateway's. In
// the second case over is false, and the job continues it.
func (s *share) accompany(j *job, res *turn.Result) (over bool, err error) {
	if !s.spectator {
		s.watch()
	}
	defer s.unwatch()
	f, err := s.mirrored(j)
	if err != nil {
		return true, j.early(explained(err))
	}
	j.follow = s.adopt(f)
	switch {
	case j.isReplay():
	case !s.spectator || !s.own.Load():
		return false, nil
	case j.follow == nil: // its request is gone with its gateway
		return true, &earlyError{ErrInterrupted}
	default:
		j.unwatched(s.about.Detach)
		return false, nil
	}
	*res, err = j.follow.outcome()
	if !s.echo.HasText() && res.Answer != "" && j.req.Form == nil {
		j.publish(turn.Update{Kind: turn.Text, Text: res.Answer})
	}
	return true, err
}

// mirrored shows the run of another gateway while it waits for the end of it.
func (s *share) mirrored(j *job) (ledger.Found, error) {
	ctx, stop := context.WithCancel(j.life.ctx)
	defer stop()
	read := make(chan struct{})
	go func() {
		defer close(read)
		j.m.cfg.guard(j.id, func() { s.mirror(ctx, j) })
	}()
	f, err := s.awaitEnd(j)
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
	return f, err
}

// awaitEnd waits until the run is over, or this gateway's. While the ledger is away, that
// cannot be known.
func (s *share) awaitEnd(j *job) (ledger.Found, error) {
	for {
		f, err := s.p.ledger.Await(j.life.ctx, s.run)
		if cause := context.Cause(j.life.ctx); err != nil && cause != nil {
			return f, cause
		}
		if err == nil || errors.Is(err, ledger.ErrFenced) {
			return f, err
		}
		if !sharing.Rest(j.life.ctx, awaitAgain) {
			return f, context.Cause(j.life.ctx)
		}
	}
}

// mirror shows the run of another gateway, from its beginning on.
func (s *share) mirror(ctx context.Context, j *job) {
	base, ok := s.whenSent(ctx, j)
	for ok && s.reflect(ctx, j, base) != nil {
		ok = sharing.Rest(ctx, mirrorAgain)
	}
}

// whenSent waits until the message of the run is sent, and returns where its turn begins.
func (s *share) whenSent(ctx context.Context, j *job) (base turn.Baseline, ok bool) {
	told := false
	defer func() {
		if told {
			j.publish(turn.Update{Kind: turn.Queue})
		}
	}()
	for {
		f, err := s.p.ledger.Find(ctx, s.run)
		if err == nil && (f.Kind != ledger.There || f.Phase >= ledger.Sending) {
			return f.Baseline, f.Kind == ledger.There || f.Kind == ledger.Closed
		}
		if err == nil && !told {
			told = true
			j.publish(turn.Update{Kind: turn.Queue, Text: "Waiting for a running agent to finish"})
		}
		if errors.Is(err, ledger.ErrFenced) || !sharing.Rest(ctx, mirrorAgain) {
			return base, false
		}
	}
}

// reflect reads the turn once.
func (s *share) reflect(ctx context.Context, j *job, base turn.Baseline) error {
	conv, err := j.m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: j.id, Existing: true})
	if err != nil {
		return err
	}
	defer conv.Close()
	j.delivery.setPlace(conv.Info().Workspace)
	s.echo.Again()
	_, err = turn.Follow(ctx, conv, base, func(u turn.Update) { s.emitNew(j, u) }, j.delivery.isDetailed)
	return err
}

// watch notes once that this gateway has clients for the run of another one.
func (s *share) watch() {
	if s.watches.CompareAndSwap(false, true) {
		s.watchBy(1)
	}
}

// unwatch takes watch back.
func (s *share) unwatch() {
	if s.watches.Load() {
		s.watchBy(-1)
	}
}

func (s *share) watchBy(n int) {
	s.p.teller.Mention("a run of another gateway has clients", func(ctx context.Context, l ledger.Ledger) error { return l.Watch(ctx, s.run, n) })
}

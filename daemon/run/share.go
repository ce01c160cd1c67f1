package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/sharing"
	"github.com/ohgw/ohgw/internal/plainjson"
)

const (
	// endTime is how long clients wait for their answer until its end is noted. Then they
	// get it, and the end is noted later.
	endTime = 3 * time.Second
	// maxSharedAnswer is the size of an answer that the ledger keeps. A longer one is in
	// the log of its conversation.
	maxSharedAnswer = 48 << 10
)

// peers is what a Manager has to do with the other gateways that answer as one with it.
// The manager's mutex guards what changes.
type peers struct {
	m      *Manager
	ledger ledger.Ledger
	teller *sharing.Teller

	jobs    map[int64]*job // by the run of the ledger, ended ones until they retire
	running int            // jobs that have a slot of the ledger
}

func openPeers(m *Manager) *peers {
	if m.cfg.Ledger == nil {
		return nil
	}
	return &peers{m: m, ledger: m.cfg.Ledger, teller: sharing.NewTeller(m.cfg.Ledger, m.cfg.Logger), jobs: make(map[int64]*job)}
}

// farewell returns why the jobs end that go on when this process ends.
func (p *peers) farewell() error {
	if p == nil {
		return ErrInterrupted
	}
	return ErrReleased
}

// close ends the calls of the ledger that no client waits for.
func (p *peers) close() {
	if p != nil {
		p.teller.Close()
	}
}

// share is what a job has to do with the ledger.
//
// Own is whether the job looks after the run. The rest belongs to the job's goroutine, but
// for what is set before that begins and never again: run, conversation, keyed, fresh,
// spectator and there.
type share struct {
	p            *peers
	run          int64
	conversation string
	keyed        bool
	fresh        bool // no gateway can have made the conversation before
	spectator    bool // its request follows a run, and does not keep it going
	there        bool // another gateway looked after the run when it was asked for
	own          atomic.Bool
	watches      atomic.Bool  // the other gateway knows that this one has clients
	untold       atomic.Int64 // clients that went away, or came back, and the ledger has not heard of it

	ticket   ledger.Ticket
	slot     bool // its turn had come when it was claimed
	noted    bool // the claim has noted that the conversation is a one-shot
	about    sharing.About
	release  bool          // another gateway can continue what this one has begun
	secured  chan struct{} // closed when it is on the disk that the message is sent, or insecure says why not; nil: it was there before
	insecure error
	settled  bool // the run has ended here, and not at another gateway
	echo     sharing.Echo
}

// sharedEnding is the end of a run as the ledger keeps it.
type sharedEnding struct {
	ending

	Answer  string    `json:"answer"`
	Created time.Time `json:"created"`
	Cut     bool      `json:"cut,omitempty"` // without the text, which is too long
}

// recordOf returns what a job follows of a run that another gateway, or an earlier one, has begun.
func recordOf(f ledger.Found) *record {
	a := sharing.Read(f.Request)
	rec := &record{readable: true, conversation: f.Conversation, answer: a.Answer, created: a.Created, baseline: f.Baseline}
	if f.Kind != ledger.Closed {
		return rec
	}
	var end sharedEnding
	if json.Unmarshal(f.Ending.Result, &end) != nil {
		return rec // it is too long: the conversation has it
	}
	rec.answer, rec.created = end.Answer, end.Created
	if !end.Cut {
		rec.done, rec.end = true, &end.ending
	}
	return rec
}

// adopt takes what was found into the share of a job, and returns the record that the
// job follows. It is nil where the run is still to be begun.
func (s *share) adopt(f ledger.Found) *record {
	s.ticket, s.slot, s.noted = f.Ticket, f.Slot, f.Noted && s.about.OneShot
	s.own.Store(f.Kind == ledger.Mine || f.Kind == ledger.Taken || f.Kind == ledger.Here)
	s.there = f.Kind == ledger.There
	if f.Kind == ledger.Mine {
		return nil
	}
	s.fresh = false
	if a := sharing.Read(f.Request); a.Answer != "" {
		s.about = a
	}
	if s.own.Load() && f.Phase == ledger.Queued {
		return nil
	}
	return recordOf(f)
}

// explained makes an error of the ledger the end of a job.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrFenced):
		return fmt.Errorf("%w: %w", ErrTakenOver, err)
	case errors.Is(err, ledger.ErrStopped):
		return ErrStopped
	}
	return fmt.Errorf("%w: %w", ErrLedger, err)
}

// isElsewhere reports whether err leaves open if another gateway has the run, or will
// have it. A repeat after that means this run.
func isElsewhere(err error) bool {
	return errors.Is(err, ErrLedger) || errors.Is(err, ErrTakenOver) || errors.Is(err, ErrReleased)
}

// settle notes in the ledger how the job ended.
func (s *share) settle(j *job, res turn.Result, err error) {
	if !s.own.Load() {
		return
	}
	ticket, early := s.ticket, isEarly(err)
	released := errors.Is(context.Cause(j.life.ctx), ErrReleased) && err != nil || s.release || early && j.follow != nil
	note := func(ctx context.Context, l ledger.Ledger) error { return l.Drop(ctx, ticket) }
	switch {
	case released:
		note = func(ctx context.Context, l ledger.Ledger) error { return l.Release(ctx, ticket) }
	case !early:
		e := s.ending(res, err)
		note = func(ctx context.Context, l ledger.Ledger) error { return l.End(ctx, ticket, e) }
	}
	told, failed := s.p.teller.Tell(endTime, note)
	s.settled = told && !released
	if failed != nil {
		s.p.m.cfg.Logger.Warn("cannot note the end of a run in the shared state; trying again", "conversation_id", j.id, "err", failed)
		s.p.teller.Insist(note)
	}
}

// ending returns the end of a run for the ledger.
func (s *share) ending(res turn.Result, err error) ledger.Ending {
	end := sharedEnding{ending: *newEnding(res, err), Answer: s.about.Answer, Created: s.about.Created}
	if len(res.Answer) > maxSharedAnswer {
		end.Result.Answer, end.Cut = "", true
	}
	e := ledger.Ending{Failed: err != nil || res.Outcome == turn.Failed || res.Outcome == turn.Stuck, Usage: res.Usage}
	var marshaled error
	if e.Result, marshaled = plainjson.Marshal(end); marshaled != nil {
		e.Result = nil // the conversation has it
	}
	switch {
	case errors.Is(err, ErrAbandoned):
		e.Stop = "gone"
	case res.Outcome == turn.Interrupted:
		e.Stop = "user"
	}
	return e
}

// isNew reports whether no gateway can have made the conversation of the job.
func (j *job) isNew() bool {
	if j.follow != nil || j.req.ConversationID != "" && !j.req.Made {
		return false
	}
	return j.share == nil || j.share.fresh
}

// isShared reports whether clients of other gateways may want what the job makes.
func (j *job) isShared() bool { return j.share != nil && j.share.own.Load() }

// takesClients reports whether a request for the run of the job can have its answer.
func (s *share) takesClients(j *job) bool {
	if j.life.gaveUp() || j.life.failedEarly() != nil {
		return false
	}
	return s.own.Load() || !j.life.isEnding()
}

// left notes that a client of the run went away, or came back.
func (s *share) left(back bool) {
	if s.keyed {
		return
	}
	by := int64(1)
	if back {
		by = -1
	}
	s.untold.Add(by)
	s.p.teller.Mention("a client left", func(ctx context.Context, l ledger.Ledger) error {
		defer s.untold.Add(-by)
		return l.Left(ctx, s.run, back)
	})
}

// delivered notes that a client has the answer.
func (s *share) delivered() {
	if !s.keyed {
		s.p.teller.Mention("an answer was delivered", func(ctx context.Context, l ledger.Ledger) error { return l.Delivered(ctx, s.run) })
	}
}

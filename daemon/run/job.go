package run

import (
	"container/list"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/repeat"
	"github.com/ohgw/ohgw/internal/rescue"
)

// job is one turn of one conversation and everything that it produced.
//
// Its state has two halves, each with a lock of its own: life is how far the
// run has come, delivery is what its clients had of it. What concerns both, such
// as that a run ends with its last client, is decided here and in clients.go.
// Locks are taken in this order: the manager's, delivery's, life's.
type job struct {
	m        *Manager
	req      Request
	id       string    // of the conversation
	answerID string    // names the answer, at each delivery
	created  time.Time // of the answer, likewise
	follow   *record   // the turn was started by an earlier process; nil: by us
	share    *share    // what several gateways share of it; nil: nothing
	before   []*job    // runs of the conversation that this one takes the place of

	life     life
	delivery delivery

	// For the job's own goroutine.
	began   bool    // the message was sent, or may have been
	prefix  string  // what goes before the message
	earlier Earlier // what clients said outside of runs; nil: not looked for
	said    string  // that, as it goes before prefix
	forked  bool    // the conversation is a copy, which knows what was said

	// The manager's mutex guards these.
	entry    *repeat.Entry[*job] // nil: no request finds the job
	endedAt  *list.Element       // in the manager's list of ended jobs
	retire   *time.Timer
	retired  bool
	retained int // bytes that the ended job keeps
}

// newJob makes a job, which follows the turn of a record if there is one, and has a share
// if there are several gateways.
func (m *Manager) newJob(req Request, follow *record, s *share) *job {
	now := m.cfg.Now()
	j := &job{
		m: m, req: req, follow: follow, share: s, id: req.ConversationID, created: now, answerID: strings.ReplaceAll(newID(), "-", ""),
		life: newLife(m.life, now), delivery: newDelivery(req, m.cfg.MaxLog),
	}
	j.req.Gone = nil // the attachment has it, for as long as the client is there
	if s != nil {
		j.id, j.answerID, j.created = s.conversation, s.about.Answer, s.about.Created
	}
	if j.id == "" {
		j.id = newID()
	}
	if follow != nil {
		j.life.sent = true
	}
	if follow != nil && follow.readable {
		j.id = follow.conversation
		if follow.answer != "" {
			j.answerID, j.created = follow.answer, follow.created
		}
	}
	if j.req.Observer != nil {
		j.req.Observer.Admitted(j.id, j.answerID, j.created)
	}
	return j
}

// publish shows an update to the observer and to the clients.
func (j *job) publish(u turn.Update) {
	if j.req.Observer != nil {
		j.req.Observer.Update(u)
	}
	j.delivery.publish(u)
}

// run runs the job's goroutine. The result is a pointer below it: a job waits for
// most of its life, and its stack with it.
func (j *job) run() {
	res := new(turn.Result)
	err := rescue.Do(func() error { return j.work(res) })
	j.conclude(res, err)
}

// work waits for its turn, opens the conversation and runs the turn in it.
// Whatever the error, what is known of the result is in res.
func (j *job) work(res *turn.Result) error {
	if j.isReplay() {
		return j.replayRecord(res)
	}
	if j.share != nil && j.share.there {
		if over, err := j.share.accompany(j, res); over {
			return err
		}
	}
	release, err := j.m.wait(j.life.ctx, j)
	if err != nil {
		return j.early(err)
	}
	defer release()
	j.life.admit(j.m.cfg.Now())
	if err := j.awaitBefore(); err != nil {
		return j.early(err)
	}
	if j.follow == nil {
		if err := j.req.Budget.Check(); err != nil { // waiting may have used it up
			return j.early(err)
		}
	}
	conv, err := j.open()
	if j.follow != nil && errors.Is(err, agentapi.ErrConversationNotFound) {
		return ErrInterrupted // a one-shot, removed meanwhile
	}
	if err != nil {
		return j.early(err)
	}
	defer conv.Close()
	close(j.life.opened)
	return j.runIn(conv, res)
}

// awaitBefore waits for the runs that the job takes the place of.
func (j *job) awaitBefore() error {
	for _, other := range j.before {
		select {
		case <-other.life.over:
		case <-j.life.ctx.Done():
			return j.life.ctx.Err()
		}
	}
	return nil
}

// runIn runs the turn, or follows the one that was begun before.
func (j *job) runIn(conv agentapi.Conversation, res *turn.Result) error {
	if j.share != nil {
		conv = j.share.in(j, conv)
	}
	switch {
	case j.follow == nil:
		return j.drive(conv, res)
	case j.isShared():
		return j.share.resume(j, conv, res)
	}
	return j.rejoin(conv, res)
}

// isReplay reports whether the job only reads the record of a run that is over.
// It waits for nothing: its conversation may be at work on something else.
func (j *job) isReplay() bool { return j.follow != nil && j.follow.done }

// replayRecord answers from the record of an ended run.
func (j *job) replayRecord(res *turn.Result) error {
	var err error
	*res, err = j.follow.outcome()
	if res.Answer != "" && j.req.Form == nil { // with a form, the answer is not the text of a step
		j.publish(turn.Update{Kind: turn.Text, Text: res.Answer})
	}
	return err
}

// early returns err as the end of a job that started nothing: who ended it says why.
func (j *job) early(err error) error {
	if cause := context.Cause(j.life.ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, ErrInterrupted) {
		err = ErrDraining
	}
	return &earlyError{err}
}

// conclude ends a job.
func (j *job) conclude(res *turn.Result, err error) {
	j.m.cfg.broken(j.id, err)
	j.life.cancel(nil)
	j.m.cfg.guard(j.id, func() {
		if j.req.Chat != nil && j.follow == nil { // a turn of another life is in its chat already
			j.req.Chat.End(j.began, errors.Is(err, ErrAbandoned) || res.Outcome == turn.Interrupted)
		}
	})
	j.m.cfg.guard(j.id, func() { j.pay(res, err) })
	j.m.cfg.guard(j.id, func() { j.observeEnd(res, err) })
	j.m.cfg.guard(j.id, func() {
		if j.earlier != nil {
			j.earlier.End(j.began)
		}
	})
	j.m.cfg.guard(j.id, func() { j.reportEnd(res, err) }) // before anybody has the answer: who has it finds it counted
	j.finish(*res, err)
	if j.share != nil && !j.share.settled {
		return // it goes on elsewhere
	}
	if j.req.Once || j.req.ConversationID == "" && !j.req.Keep {
		j.m.oneShots.Ended(j.id, j.req.Once || !isEarly(err))
	}
}

// pay has all that the run took counted, also by what came after its last step.
func (j *job) pay(res *turn.Result, err error) {
	if !j.isReplay() && (j.share == nil || j.isShared()) { // another gateway pays for what it runs
		j.req.Budget.Close(res.Usage, goesOn(err))
	}
}

// goesOn reports whether a run may go on at its backend behind the end of its turn.
func goesOn(err error) bool {
	return errors.Is(err, agentapi.ErrLost) || errors.Is(err, agentapi.ErrUncertain) || rescue.Of(err) != nil
}

// observeEnd tells the observer the end.
func (j *job) observeEnd(res *turn.Result, err error) {
	if j.req.Observer == nil {
		return
	}
	began := !isEarly(err)
	if early, ok := errors.AsType[*earlyError](err); ok {
		err = early.err
	}
	j.req.Observer.End(*res, err, began)
}

// reportEnd calls Config.Ended with the end of a run.
func (j *job) reportEnd(res *turn.Result, err error) {
	if j.m.cfg.Ended == nil || j.isReplay() || j.share != nil && !j.isShared() {
		return
	}
	now := j.m.cfg.Now()
	end := Ended{Profile: j.req.Profile, Result: *res, Err: err, Started: !isEarly(err), Left: errors.Is(err, ErrAbandoned)}
	if early, ok := errors.AsType[*earlyError](err); ok {
		end.Err = early.err
	}
	if admitted, _ := j.life.progress(); admitted.IsZero() { // it ended in the queue
		end.Waited = now.Sub(j.life.made)
	} else {
		end.Waited, end.Took = admitted.Sub(j.life.made), now.Sub(admitted)
	}
	j.m.cfg.Ended(end)
}

// finish stores the end, gives the job's place away, and wakes all clients.
func (j *job) finish(res turn.Result, err error) {
	// On disk before any client sees it: a key whose answer was read once must
	// not run again. One that was given up may have another job by now.
	if j.share != nil {
		j.share.settle(j, res, err)
	} else if !j.life.gaveUp() {
		if recErr := rescue.Do(func() error { return j.m.records.end(j, res, err) }); recErr != nil {
			j.m.cfg.Logger.Error("cannot complete idempotency record", "conversation_id", j.id, "err", recErr)
		}
	}
	j.forgetRequest()
	j.life.finish(res, err, j.m.cfg.Now()) // first: who reads the end of the log asks for the result
	j.m.finished(j)                        // likewise: the client's next request needs the conversation and a place
	j.life.tell()
	j.delivery.finish()
}

// forgetRequest lets go of what only the run needed: pictures, what was said
// before, the chat.
func (j *job) forgetRequest() {
	j.req.Chat, j.req.Compose, j.req.Message, j.req.Decision = nil, nil, agentapi.Message{}, nil
	j.req.System, j.req.Quoted, j.prefix, j.said, j.before = "", "", "", "", nil
	j.req.Form, j.req.Budget = nil, nil
}

// size is how many bytes the ended job keeps.
func (j *job) size() int {
	const fields = 2 << 10 // channels, timers, contexts, ids
	size := fields + j.delivery.size() + j.life.size()
	if j.req.Observer != nil {
		size += j.req.Observer.Size()
	}
	return size
}

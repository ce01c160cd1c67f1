package run

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/rescue"
)

// job is one turn of one conversation and everything that it produced.
type job struct {
	m        *Manager
	req      Request
	id       string    // of the conversation
	answerID string    // names the answer, at each delivery
	created  time.Time // of the answer, likewise
	follow   *record   // the turn was started by an earlier process; nil: by us
	ctx      context.Context
	cancel   context.CancelCauseFunc
	turn     chan struct{}   // closed when the lane is j's
	slot     <-chan struct{} // closed when a slot is j's; nil if it was at once. Set before turn is closed
	queued   chan struct{}   // closed when j has to wait in its lane
	opened   chan struct{}   // closed when the conversation is open, or j has ended

	made, admitted time.Time // admitted is for the job's own goroutine
	began          bool      // the message was sent, or may have been; likewise
	prefix         string    // what goes before it; likewise
	before         []*job    // runs of the conversation that this one takes the place of; set before start
	over           chan struct{}

	// The manager's mutex guards these.
	retire  *time.Timer
	retired bool

	mu       sync.Mutex
	stopped  bool // it was told to end, and takes no new client
	sent     bool // the message is about to be sent, or was
	detached bool // the run goes on without clients
	owed     int  // see history
	log      transcript
	clients  map[*Attachment]struct{}
	grace    *time.Timer
	ignored  []string
	kind     string // what the request is to its chat
	ended    bool
	result   turn.Result
	err      error
	endedAt  time.Time
	retained int // bytes that the ended job keeps
	delivers int
	firstDel time.Time
	lastDel  time.Time
}

func (m *Manager) newJob(req Request) *job {
	j := &job{
		m: m, req: req, id: req.ConversationID, made: m.cfg.Now(),
		turn: make(chan struct{}), queued: make(chan struct{}), opened: make(chan struct{}), over: make(chan struct{}),
		clients: make(map[*Attachment]struct{}), detached: req.Detach, log: transcript{limit: m.cfg.MaxLog},
	}
	if j.id == "" {
		j.id = newID()
	}
	j.answerID, j.created = strings.ReplaceAll(newID(), "-", ""), j.made
	j.ctx, j.cancel = context.WithCancelCause(m.life)
	return j
}

// run is the life of a job. The result is a pointer below it: a job waits for
// most of its life, and its stack with it.
func (j *job) run() {
	res := new(turn.Result)
	err := rescue.Do(func() error { return j.work(res) })
	j.conclude(res, err)
}

// conclude ends a job.
func (j *job) conclude(res *turn.Result, err error) {
	j.m.cfg.broken(j.id, err)
	j.cancel(nil)
	j.m.cfg.guard(j.id, func() {
		if j.req.Chat != nil && j.follow == nil { // a turn of another life is in its chat already
			j.req.Chat.End(j.began, errors.Is(err, ErrAbandoned) || res.Outcome == turn.Interrupted)
		}
	})
	j.m.cfg.guard(j.id, func() { j.tell(res, err) }) // before anybody has the answer: who has it finds it counted
	j.finish(*res, err)
	j.m.finished(j)
	if j.req.ConversationID == "" {
		j.m.oneShots.ended(j.id, !isEarly(err))
	}
}

// tell reports the end of a run.
func (j *job) tell(res *turn.Result, err error) {
	if j.m.cfg.Ended == nil || j.isReplay() {
		return
	}
	now := j.m.cfg.Now()
	end := Ended{Profile: j.req.Profile, Result: *res, Err: err, Started: !isEarly(err), Left: errors.Is(err, ErrAbandoned)}
	if early, ok := errors.AsType[*earlyError](err); ok {
		end.Err = early.err
	}
	if j.admitted.IsZero() { // it ended in the queue
		end.Waited = now.Sub(j.made)
	} else {
		end.Waited, end.Took = j.admitted.Sub(j.made), now.Sub(j.admitted)
	}
	j.m.cfg.Ended(end)
}

// isReplay tells whether the job only reads the record of a run that is over.
// It waits for nothing: its conversation may be at work on something else.
func (j *job) isReplay() bool { return j.follow != nil && j.follow.done }

func (j *job) oneShot() bool { return j.req.ConversationID == "" && j.follow == nil }

// work waits for its turn, opens the conversation and runs the turn in it.
// Whatever the error, what is known of the result is in res.
func (j *job) work(res *turn.Result) error {
	if j.isReplay() {
		return j.replayRecord(res)
	}
	release, err := j.m.wait(j.ctx, j)
	if err != nil {
		return j.early(err)
	}
	defer release()
	j.admitted = j.m.cfg.Now()
	for _, other := range j.before {
		select {
		case <-other.over:
		case <-j.ctx.Done():
			return j.early(j.ctx.Err())
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
	close(j.opened)
	if j.follow != nil {
		return j.rejoin(conv, res)
	}
	return j.drive(conv, res)
}

// early is err as the end of a job that started nothing: who ended it says why.
func (j *job) early(err error) error {
	if cause := context.Cause(j.ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, ErrInterrupted) {
		err = ErrDraining
	}
	return &earlyError{err}
}

// enter opens or makes the conversation. A one-shot is noted before it is made;
// one that is continued is kept before anything happens in it.
func (j *job) enter() (conv agentapi.Conversation, forked bool, err error) {
	if j.oneShot() {
		at, err := j.m.oneShots.add(j.id)
		if err != nil {
			return nil, false, err
		}
		conv, forked, err = j.find()
		if err != nil && nothingStarted(err) {
			j.m.oneShots.unmade(j.id, at)
		}
		if err != nil {
			return nil, false, err
		}
		if err = j.own(conv.Info(), true); err != nil {
			return nil, false, j.disown(conv, true, err)
		}
		return conv, forked, nil
	}
	if conv, forked, err = j.find(); err != nil || j.follow != nil {
		return conv, forked, err
	}
	info := conv.Info()
	made := info.Created || forked
	if err = j.own(info, made); err != nil {
		return nil, false, j.disown(conv, made, err)
	}
	if err = j.m.oneShots.keep(j.id); err != nil {
		return nil, false, errors.Join(err, conv.Close())
	}
	return conv, forked, nil
}

// open enters the conversation and notes what of the request has no effect on
// it.
func (j *job) open() (agentapi.Conversation, error) {
	conv, forked, err := j.enter()
	if err != nil {
		return nil, err
	}
	if err := rescue.Do(func() error { return j.prepare(conv, forked) }); err != nil {
		return nil, errors.Join(err, conv.Close())
	}
	return conv, nil
}

// prepare brings the conversation and the request together.
func (j *job) prepare(conv agentapi.Conversation, forked bool) error {
	info := conv.Info()
	if j.req.Chat != nil && j.follow == nil {
		text, kind, line := j.req.Chat.Compose(info, forked)
		if line != "" {
			j.publish(turn.Update{Kind: turn.Progress, Text: line})
		}
		j.mu.Lock()
		j.prefix, j.kind = text, kind
		j.mu.Unlock()
	}
	if info.Created && !forked || j.follow != nil {
		return nil
	}
	if j.req.System != "" && (!info.SystemKnown || info.System != j.req.System) {
		j.mu.Lock()
		j.ignored = append(j.ignored, "system")
		j.mu.Unlock()
	}
	if info.Profile == j.req.Profile {
		return nil
	}
	return conv.Switch(j.ctx, j.req.Profile)
}

// find opens, makes or copies the conversation.
func (j *job) find() (conv agentapi.Conversation, forked bool, err error) {
	if j.req.From != "" && j.follow == nil {
		conv, err = j.fork()
		if conv != nil || err != nil {
			return conv, true, err
		}
	}
	workspace := j.req.Workspace
	if workspace == "" {
		workspace = j.m.workspace(j.id)
	}
	conv, err = j.m.cfg.Backend.Open(j.ctx, agentapi.OpenRequest{
		ID: j.id, New: j.oneShot(), Once: j.oneShot(), Existing: j.follow != nil, Profile: j.req.Profile, System: j.req.System, Workspace: workspace,
	})
	return conv, false, err
}

// fork copies the origin of the request's conversation. It is nil where that
// cannot be done: then a new one is told what was said.
func (j *job) fork() (agentapi.Conversation, error) {
	origin, err := j.m.cfg.Backend.Open(j.ctx, agentapi.OpenRequest{ID: j.req.Origin, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	conv, err := origin.Fork(j.ctx, agentapi.ForkRequest{ID: j.id, From: j.req.From})
	if closing := origin.Close(); err == nil {
		err = closing
	}
	for _, cannot := range []error{agentapi.ErrUnsupported, agentapi.ErrRefused, agentapi.ErrConversationNotFound} {
		if errors.Is(err, cannot) {
			j.m.cfg.Logger.Info("conversation not copied; a new one is told what was said", "conversation_id", j.req.Origin, "err", err)
			return nil, nil
		}
	}
	return conv, err
}

// drive runs the turn.
func (j *job) drive(conv agentapi.Conversation, res *turn.Result) error {
	ctx := j.ctx
	limit := j.req.Timeout
	if limit == 0 {
		limit = j.m.cfg.RunTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &TimeoutError{After: limit})
		defer cancel()
	}
	msg := j.req.Message
	switch {
	case j.req.Chat != nil:
		msg.Text = j.prefix + msg.Text
	case conv.Info().Created:
		msg.Text = j.req.Quoted + msg.Text
	}
	started := false
	var err error
	*res, err = turn.Run(ctx, conv, turn.Input{
		Message:  msg,
		Decision: j.req.Decision,
		Emit:     j.publish,
		Busy:     j.busy,
		Ready: func(b turn.Baseline) error {
			if err := j.send(); err != nil {
				return err
			}
			if err := j.m.records.begin(j, b); err != nil {
				return err
			}
			if j.req.Chat != nil {
				j.req.Chat.Begin(b)
			}
			j.m.unattended.begin(j)
			started, j.began = true, true
			return nil
		},
	})
	if started {
		j.m.unattended.settle(j.id, err)
	}
	if cause := context.Cause(ctx); err != nil && !started && cause != nil {
		err = cause // it ended while it waited for another run
	}
	err = stoppedBy(context.Cause(ctx), started, res.Outcome, err)
	if err != nil && (!started || nothingStarted(err)) {
		j.began = false
		return &earlyError{err}
	}
	return err
}

// send notes that the message is about to be sent. It is not where the job was
// stopped before: its idempotency key may be in other hands by now.
func (j *job) send() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped {
		return context.Cause(j.ctx)
	}
	j.sent = true
	return nil
}

// gaveUp tells whether the job was stopped before it sent anything: nothing of
// it will ever run.
func (j *job) gaveUp() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stopped && !j.sent
}

// nothingStarted tells whether err says that the agent did not begin.
func nothingStarted(err error) bool {
	for _, kind := range []error{
		agentapi.ErrUnavailable, agentapi.ErrRefused, agentapi.ErrBusy, agentapi.ErrUnauthorized,
		agentapi.ErrUnsupported, agentapi.ErrProfileNotFound, agentapi.ErrConversationNotFound,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// replayRecord answers from the record of an ended run.
func (j *job) replayRecord(res *turn.Result) error {
	var err error
	*res, err = j.follow.outcome()
	if res.Answer != "" {
		j.publish(turn.Update{Kind: turn.Text, Text: res.Answer})
	}
	return err
}

// workspace is the directory of a new conversation.
func (m *Manager) workspace(id string) string {
	if m.cfg.Workspace != "" || m.cfg.WorkspaceRoot == "" {
		return m.cfg.Workspace
	}
	return filepath.Join(m.cfg.WorkspaceRoot, id)
}

// finish stores the end and wakes everybody.
func (j *job) finish(res turn.Result, err error) {
	// On disk before any client sees it: a key whose answer was read once must
	// not run again. One that was given up may have another job by now.
	if !j.gaveUp() {
		if recErr := rescue.Do(func() error { return j.m.records.end(j, res, err) }); recErr != nil {
			j.m.cfg.Logger.Error("idempotency record not completed", "conversation_id", j.id, "err", recErr)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.opened:
	default: // it never came so far
		close(j.opened)
	}
	j.result, j.err, j.ended, j.endedAt = res, err, true, j.m.cfg.Now()
	if err == nil && res.Outcome != turn.Interrupted {
		j.stopped = false // it came to its end before anybody stopped it
	}
	close(j.over)
	if j.grace != nil {
		j.grace.Stop()
	}
	j.forgetRequest()
	j.retained = j.size()
	j.wake()
}

// forgetRequest lets go of what only the run needed: pictures, what was said
// before, the chat. The caller holds j.mu.
func (j *job) forgetRequest() {
	if j.req.Chat != nil && j.kind == "" {
		j.kind = j.req.Chat.Planned()
	}
	j.req.Chat, j.req.Message, j.req.Decision = nil, agentapi.Message{}, nil
	j.req.System, j.req.Quoted, j.prefix, j.before = "", "", "", nil
}

// failedEarly is why the job ended before it started anything; nil while it
// may still, or has.
func (j *job) failedEarly() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if early, ok := errors.AsType[*earlyError](j.err); ok {
		return early.err
	}
	return nil
}

// remembered tells whether an ended job can answer a repeat at all.
func (j *job) remembered() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !isEarly(j.err) && !j.stopped
}

func (j *job) history() history {
	j.mu.Lock()
	defer j.mu.Unlock()
	return history{
		stopped: j.stopped, ended: j.ended, failed: j.failed(), owed: j.owed, revision: j.req.ProfileRevision,
		endedAt: j.endedAt, deliveries: j.delivers, firstDeliver: j.firstDel, lastDeliver: j.lastDel,
	}
}

// failed tells whether the end was a failure of the run.
func (j *job) failed() bool {
	return j.err != nil || j.result.Outcome == turn.Failed || j.result.Outcome == turn.Stuck
}

// size is how many bytes the ended job keeps. The caller holds j.mu.
func (j *job) size() int {
	const fields = 2 << 10 // channels, timers, contexts, ids
	n := fields + j.log.bytes + len(j.result.Answer)
	for _, a := range j.result.Waiting {
		n += len(a.Line) + len(a.Detail)
	}
	if j.result.Cause != nil {
		n += len(j.result.Cause.Detail)
	}
	return n
}

package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/uuid"
)

const (
	// ledgerTime bounds one question to the ledger that nobody is asked to wait for.
	ledgerTime = 10 * time.Second
	// endTime is how long clients wait for their answer until its end is noted; then they
	// get it, and the end is told again.
	endTime = 3 * time.Second
	// ledgerAgain is when what the ledger could not take is told again.
	ledgerAgain = time.Second
	// maxShared is the size of a message that another gateway could send in place of
	// this one, in bytes.
	maxShared = 1 << 20
	// maxSharedAnswer is the size of an answer that the ledger keeps. A longer one is in
	// the log of its conversation.
	maxSharedAnswer = 48 << 10
)

// share is what a job has to do with the ledger that several gateways share: nil where
// this process is the only one.
//
// own is whether the job looks after the run. The rest belongs to the job's goroutine,
// but what is set before it starts and never again: run, conversation, fresh, seen and
// there.
type share struct {
	run          int64
	conversation string
	fresh        bool // no gateway can have made the conversation before
	seen         bool // the run was begun before, here or at another gateway
	keyed        bool
	own          atomic.Bool
	watches      atomic.Bool  // the run is another gateway's, which knows that this one has clients
	untold       atomic.Int64 // clients that went away, or came back, and the ledger has not heard of it

	ticket  ledger.Ticket
	slot    bool // its turn had come when it was claimed
	noted   bool // its conversation is a one-shot of its token; the claim has noted that
	entered bool // and it was made, or that was tried
	about   about
	there   bool       // another gateway looked after the run when it was asked for
	release bool       // another gateway can go on with what this one has begun
	secured chan error // gets how that was brought to the disk that the message is sent; nil: it was there before
	settled bool       // the run has ended here, and not at another gateway
	echo    echo       // what was shown of a run that another gateway had
}

// about is what every gateway knows of a request.
type about struct {
	Answer  string        `json:"answer"`
	Created time.Time     `json:"created"`
	Profile string        `json:"profile,omitempty"`
	Who     string        `json:"who,omitempty"`
	Detach  bool          `json:"detach,omitempty"`
	OneShot bool          `json:"one_shot,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// Message is what is sent, once that is known; nil: it is too long, or there is
	// none. Decided: the turn answers what waited for a confirmation.
	Message *sent `json:"message,omitempty"`
	Decided bool  `json:"decided,omitempty"`
}

// sent is a message as the ledger keeps it.
type sent struct {
	Text   string   `json:"text"`
	Images []string `json:"images,omitempty"`
	Cost   float64  `json:"max_cost,omitempty"` // US dollars
	Tokens int64    `json:"max_tokens,omitempty"`
}

func sentOf(m agentapi.Message) *sent {
	return &sent{m.Text, m.Images, m.Limit.Cost, m.Limit.Tokens}
}

func (m sent) message() agentapi.Message {
	return agentapi.Message{Text: m.Text, Images: m.Images, Limit: agentapi.Limit{Cost: m.Cost, Tokens: m.Tokens}}
}

// sharedEnding is the end of a run as the ledger keeps it.
type sharedEnding struct {
	ending

	Answer  string    `json:"answer"`
	Created time.Time `json:"created"`
	Cut     bool      `json:"cut,omitempty"` // without the text, which is too long
}

// aboutOf reads what is known of a run. What cannot be read says nothing.
func aboutOf(data []byte) (a about) {
	_ = json.Unmarshal(data, &a)
	return a
}

// claimOf is the claim of a request, and what its job would share.
func (m *Manager) claimOf(req Request) (ledger.Claim, *share) {
	s := &share{conversation: req.ConversationID, keyed: req.IdempotencyKey != "", fresh: req.IdempotencyKey == ""}
	if s.conversation == "" {
		s.conversation = newID()
		if s.keyed && !req.Keep {
			s.conversation = derivedID(req.Token, req.IdempotencyKey)
		}
	}
	s.about = about{
		Answer: strings.ReplaceAll(newID(), "-", ""), Created: m.cfg.Now(), Profile: req.Profile, Who: req.Who, Detach: req.Detach,
		OneShot: req.ConversationID == "" && !req.Keep, Timeout: req.Timeout, Decided: req.Decision != nil && req.Decision.Accept,
	}
	data, _ := json.Marshal(s.about) // it has no value that JSON does not have
	c := ledger.Claim{
		Token: req.Token, Print: req.Fingerprint[:], Conversation: s.conversation, Request: data, Revision: req.ProfileRevision,
		Once: s.about.OneShot, Owned: s.about.OneShot && !req.Person,
	}
	if s.keyed {
		c.Key = []byte(recordKey(req.Token, req.IdempotencyKey))
	}
	return c, s
}

// derivedID is the conversation of a one-shot with a key: one that a ledger forgot is
// found on its server.
func derivedID(token, key string) string {
	sum := sha256.Sum256([]byte("one-shot\x00" + recordKey(token, key)))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	id, _ := uuid.Parse(hex.EncodeToString(sum[:16])) // it has the length of one
	return id
}

// follows is the record of a run that an earlier gateway, or another one, has begun.
func follows(f ledger.Found) *record {
	a := aboutOf(f.Request)
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

// sending notes in the ledger that the message is about to be sent.
func (j *job) sending(base turn.Baseline, msg agentapi.Message) error {
	s := j.share
	if !s.about.Decided {
		s.about.Message = sentOf(msg)
	}
	data, err := json.Marshal(s.about)
	if err == nil && len(data) > maxShared {
		s.about.Message = nil
		data, err = json.Marshal(s.about)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(j.life.ctx, ledgerTime)
	defer cancel()
	if err := j.m.cfg.Ledger.Sending(ctx, s.ticket, base, data, s.keyed); err != nil || s.keyed {
		return explained(err)
	}
	j.secure()
	return nil
}

// secure brings to the disk what a request has noted that has no key, while its message
// is sent: else a crash of the database would let the request that comes again begin a
// second run beside the first.
func (j *job) secure() {
	secured := make(chan error, 1)
	j.share.secured = secured
	go func() {
		secured <- rescue.Do(func() error {
			ctx, cancel := context.WithTimeout(j.life.ctx, ledgerTime)
			defer cancel()
			return j.m.cfg.Ledger.Secure(ctx)
		})
	}()
}

// isSecure waits for the end of secure.
func (s *share) isSecure() error {
	if s.secured == nil {
		return nil
	}
	return <-s.secured // it ends with the job
}

// fence lets a turn begin only where the run is still the job's.
func (j *job) fence(in *turn.Input) {
	if j.share == nil {
		return
	}
	l, ticket := j.m.cfg.Ledger, j.share.ticket
	in.Fence = func(ctx context.Context) error {
		err := l.Running(ctx, ticket)
		if err == nil {
			err = j.share.isSecure()
		}
		err = explained(err)
		j.share.release = j.share.release || err != nil // its message may be in the log
		return err
	}
	in.Started = func(ctx context.Context, interrupt func(context.Context) error) error {
		switch err := l.Started(ctx, ticket, interrupt); {
		case errors.Is(err, ledger.ErrFenced):
			return explained(err)
		case errors.Is(err, ledger.ErrStopped):
			j.life.halt(ErrStopped)
		} // where nobody can tell, the run goes on: its end is told again and again
		return nil
	}
}

// explained is an error of the ledger as an end of a job.
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

// settle tells the ledger how the job ended.
func (j *job) settle(res turn.Result, err error) {
	s := j.share
	if !s.own.Load() {
		return
	}
	l, ticket, early := j.m.cfg.Ledger, s.ticket, isEarly(err)
	released := errors.Is(context.Cause(j.life.ctx), ErrReleased) && err != nil || s.release || early && j.follow != nil
	tell := func(ctx context.Context) error { return l.Drop(ctx, ticket) }
	switch {
	case released:
		tell = func(ctx context.Context) error { return l.Release(ctx, ticket) }
	case !early:
		e := s.ending(res, err)
		tell = func(ctx context.Context) error { return l.End(ctx, ticket, e) }
	}
	told, err := j.m.tell(endTime, tell)
	s.settled = told && !released
	if err != nil {
		j.m.cfg.Logger.Warn("cannot tell the ledger the end of a run; trying again", "conversation_id", j.id, "err", err)
		j.m.chores.Go(func() { j.m.insist(tell) })
	}
}

// ending is the end of a run for the ledger.
func (s *share) ending(res turn.Result, err error) ledger.Ending {
	end := sharedEnding{ending: *newEnding(res, err), Answer: s.about.Answer, Created: s.about.Created}
	if len(res.Answer) > maxSharedAnswer {
		end.Result.Answer, end.Cut = "", true
	}
	data, _ := json.Marshal(end) // it has no value that JSON does not have
	e := ledger.Ending{Result: data, Failed: err != nil || res.Outcome == turn.Failed || res.Outcome == turn.Stuck, Usage: res.Usage}
	switch {
	case errors.Is(err, ErrAbandoned):
		e.Stop = "gone"
	case res.Outcome == turn.Interrupted:
		e.Stop = "user"
	}
	return e
}

// tell tells the ledger something; told is false where the run is another gateway's,
// which is no error.
func (m *Manager) tell(limit time.Duration, f func(context.Context) error) (told bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = f(ctx)
	if errors.Is(err, ledger.ErrFenced) {
		return false, nil
	}
	return err == nil, err
}

// insist tells it until the ledger listens, or the manager ends: the run is an orphan
// then.
func (m *Manager) insist(f func(context.Context) error) {
	ticker := time.NewTicker(ledgerAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if _, err := m.tell(ledgerTime, f); err == nil {
				return
			}
		case <-m.life.Done():
			return
		}
	}
}

// mention tells the ledger something that it may miss, and waits for nothing.
func (m *Manager) mention(f func(context.Context, ledger.Ledger) error) {
	go m.cfg.guard("", func() {
		if _, err := m.tell(ledgerTime, func(ctx context.Context) error { return f(ctx, m.cfg.Ledger) }); err != nil {
			m.cfg.Logger.Debug("cannot tell the ledger what a client did", "err", err)
		}
	})
}

// loose is a conversation whose run other gateways know. One that is given to them is
// not interrupted.
type loose struct {
	agentapi.Fenced

	j *job
}

func (c loose) Interrupt(ctx context.Context) error {
	if errors.Is(context.Cause(c.j.life.ctx), ErrReleased) || !c.j.share.own.Load() {
		return ErrReleased
	}
	return c.Fenced.Interrupt(ctx)
}

// mute is one whose message nobody knows any more.
type mute struct{ loose }

func (mute) Append(context.Context, agentapi.Message) error { return ErrInterrupted }

// spendTime bounds how long a run waits until what it has taken is noted.
const spendTime = 2 * time.Second

// over is what is asked while a run goes on whether it has taken too much; nil: nothing.
// Other gateways count what it has taken.
func (j *job) over() func(turn.Usage) (reason, note string) {
	if j.share == nil || j.req.Over == nil {
		return j.req.Over
	}
	over, ticket := j.req.Over, j.share.ticket
	return func(u turn.Usage) (reason, note string) {
		ctx, cancel := context.WithTimeout(j.life.ctx, spendTime)
		defer cancel()
		if err := j.m.cfg.Ledger.Spends(ctx, ticket, u); err != nil { // its end counts it
			j.m.cfg.Logger.Debug("cannot note what a run has taken so far", "conversation_id", j.id, "err", err)
		}
		return over(u)
	}
}

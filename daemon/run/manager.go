package run

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/daemon/run/fair"
	"github.com/ohgw/ohgw/daemon/run/repeat"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Manager runs jobs. Make one with New, end it with Drain and Close.
type Manager struct {
	cfg      Config
	records  *records
	oneShots shots
	peers    *peers // nil: this process is the only gateway

	unattended *unattended

	wg     sync.WaitGroup // the jobs
	chores sync.WaitGroup // what goes on until life ends
	life   context.Context
	end    context.CancelCauseFunc

	mu       sync.Mutex
	draining bool
	active   int            // jobs that have not ended
	held     map[string]int // the same by token
	slots    fair.Slots
	queues   map[string]*conversationQueue
	prints   map[Fingerprint]*repeat.Index[*job] // ended ones until they retire
	keys     map[string]*job                     // by token and idempotency key, likewise
	epoch    atomic.Uint64                       // counts what was taken out of keys
	refused  repeat.Refusals[Fingerprint]
	retained int       // bytes that ended jobs keep
	ended    list.List // of *job that have not retired, by their ends
}

// New makes a Manager and takes over what an earlier one left: records of
// idempotency keys, and one-shots that were not removed.
func New(cfg Config) (*Manager, error) {
	cfg = cfg.withDefaults()
	m := &Manager{
		cfg:    cfg,
		slots:  fair.New(cfg.limit),
		held:   make(map[string]int),
		queues: make(map[string]*conversationQueue),
		prints: make(map[Fingerprint]*repeat.Index[*job]),
		keys:   make(map[string]*job),

		refused: make(repeat.Refusals[Fingerprint]),
	}
	m.life, m.end = context.WithCancelCause(context.Background())
	var err error
	m.records = openRecords(cfg)
	if m.unattended, err = openUnattended(cfg); err != nil {
		return nil, err
	}
	m.oneShots = openShots(m)
	m.chores.Go(func() { m.records.sweep(m.life) })
	if m.peers = openPeers(m); m.peers != nil {
		m.chores.Go(func() { m.peers.reap(m.life) })
	}
	return m, nil
}

// Drain refuses new requests and waits for the running jobs. Those that have
// not ended when ctx does are interrupted. With a ledger they are left to the other
// gateways, and those that wait at once.
func (m *Manager) Drain(ctx context.Context) {
	m.mu.Lock()
	m.draining = true
	m.peers.releaseWaiting()
	m.mu.Unlock()
	idle := make(chan struct{})
	go func() { // ends with the last job, at the latest when they are interrupted
		m.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		m.end(m.peers.farewell())
		<-idle
	}
}

// Close ends everything. One-shots whose time has not come are left for the
// next Manager on the same state directory.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.draining = true
	m.mu.Unlock()
	m.end(m.peers.farewell())
	m.wg.Wait()
	m.mu.Lock()
	for m.ended.Len() > 0 {
		m.ended.Remove(m.ended.Front()).(*job).retire.Stop()
	}
	m.mu.Unlock()
	m.chores.Wait()
	m.peers.close()
	return m.oneShots.Close()
}

// Admit finds or makes the job that answers req. The caller must Close the attachment.
// Before it reads the answer of a request that continues a conversation, it calls
// [Attachment.Opened], so that what has no effect is known.
//
// Errors: ErrGone, ErrDraining, ErrQueueFull, ErrConversationBusy, ErrKeyConflict. With a
// ledger also ErrLedger, and ErrReleased in place of ErrDraining.
func (m *Manager) Admit(req Request) (*Attachment, error) {
	if err := m.foreign(req); err != nil {
		return nil, err
	}
	if m.peers != nil {
		return m.peers.admit(req)
	}
	if req.IdempotencyKey == "" {
		return m.admit(req, found{})
	}
	for { // until no job of a key was forgotten between the look at the disk and the lock
		f := found{epoch: m.epoch.Load()}
		var err error
		if f.record, err = m.records.find(recordKey(req.Token, req.IdempotencyKey)); err != nil {
			return nil, err
		}
		a, err := m.admit(req, f)
		if !errors.Is(err, errOutdated) {
			return a, err
		}
	}
}

// found is what the disk knew of a request's key: it is read before the
// manager's mutex is taken, so that no request waits for another's disk.
type found struct {
	record *record // nil: nothing
	epoch  uint64  // as it was before
}

// errOutdated says that found may not be true any more.
var errOutdated = errors.New("the record may have changed")

// admit finds the job that req repeats or makes a new one, and attaches.
func (m *Manager) admit(req Request, f found) (*Attachment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return nil, ErrDraining
	}
	// Its repeat may have been admitted before it, and is not known to be one.
	if req.Gone != nil && !req.Detach && req.Gone() {
		return nil, ErrGone
	}
	j, err := m.earlier(req, f)
	if err != nil {
		return nil, err
	}
	if j != nil {
		a := j.join(req)
		if j.entry != nil {
			m.prints[j.req.Fingerprint].Reopen(j.entry)
		}
		return a, nil
	}
	if m.isFull(req.Token) {
		m.refused.Note(req.Fingerprint, m.cfg.Now())
		return nil, ErrQueueFull
	}
	if err := m.lineUp(&req); err != nil {
		return nil, err
	}
	j = m.newJob(req, nil, nil)
	if l := m.queues[req.Origin]; req.Origin != "" && l != nil {
		j.before = l.leave(req.Token)
	}
	a := j.attach(req.Gone)
	m.start(j)
	return a, nil
}

// lineUp looks whether req may wait behind the jobs of its conversation, and
// ends those that its client has left: whoever goes on in a conversation does
// not come back for an earlier answer. Another token cannot know that. The
// caller holds m.mu.
func (m *Manager) lineUp(req *Request) error {
	q := m.queues[req.ConversationID]
	if req.ConversationID == "" || q == nil {
		return nil
	}
	if foreignQueue(*req, q) {
		return errForeign
	}
	if m.peers == nil && len(q.jobs) > maxConversationQueue { // else the ledger has counted
		m.refused.Note(req.Fingerprint, m.cfg.Now())
		return ErrConversationBusy
	}
	for _, other := range q.jobs {
		if other.req.Token == req.Token {
			other.supersede()
		}
	}
	if req.Decision != nil && req.Decision.Accept && q.busy() {
		req.Decision = nil // the client cannot have seen what will wait then
	}
	return nil
}

// earlier finds the job that answers req without a new run, if there is one.
func (m *Manager) earlier(req Request, f found) (*job, error) {
	if req.IdempotencyKey != "" {
		return m.byKey(req, f)
	}
	if req.Fresh {
		return nil, nil
	}
	j, refused := m.repeated(req.Asker, func(*job) string { return req.ProfileRevision })
	if j == nil && refused {
		m.refused.Came(req.Fingerprint)
	}
	return j, nil
}

// byKey finds the job of req's idempotency key in memory, or starts one from the
// record that an earlier process left.
func (m *Manager) byKey(req Request, f found) (*job, error) {
	key := recordKey(req.Token, req.IdempotencyKey)
	if j := m.keys[key]; j != nil && !j.life.gaveUp() {
		if j.req.Fingerprint != req.Fingerprint {
			return nil, ErrKeyConflict
		}
		return j, nil
	}
	if f.epoch != m.epoch.Load() {
		return nil, errOutdated
	}
	rec := f.record
	if rec == nil {
		return nil, nil
	}
	if rec.readable && rec.fingerprint != req.Fingerprint {
		return nil, ErrKeyConflict
	}
	j := m.newJob(req, rec, nil)
	m.start(j)
	return j, nil
}

// start registers j and lets it run.
func (m *Manager) start(j *job) {
	m.active++
	m.held[j.req.Token]++
	m.remember(j)
	if !j.isReplay() && m.enter(j) {
		close(j.life.queued)
	}
	m.wg.Go(j.run)
}

// finished takes j out of everything that is for running jobs.
func (m *Manager) finished(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active--
	if m.held[j.req.Token]--; m.held[j.req.Token] == 0 {
		delete(m.held, j.req.Token)
	}
	m.leave(j)
	if j.life.wasRefused() {
		m.refused.Note(j.req.Fingerprint, m.cfg.Now())
	}
	if !j.life.isRemembered() {
		m.forget(j)
		return
	}
	m.settle(j)
	j.retire = time.AfterFunc(max(0, j.History().Keep(m.cfg.Now())), func() { m.cfg.guard(j.id, func() { m.review(j) }) })
	j.endedAt = m.ended.PushBack(j)
	j.retained = j.size()
	m.retained += j.retained
	for m.retained > maxRetained && m.ended.Len() > 1 {
		oldest := m.ended.Front().Value.(*job)
		oldest.retire.Stop()
		m.retireLocked(oldest)
	}
}

// review looks whether an ended job can still answer anybody.
func (m *Manager) review(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j.retire == nil || j.retired {
		return
	}
	if left := j.History().Keep(m.cfg.Now()); left > 0 {
		j.retire.Reset(left)
		return
	}
	m.retireLocked(j)
}

// retireLocked forgets an ended job.
func (m *Manager) retireLocked(j *job) {
	j.retired = true
	m.retained -= j.retained
	m.ended.Remove(j.endedAt)
	m.forget(j)
}

// newID makes the id of a conversation.
func newID() string { return uuid.New() }

// earlyError wraps what went wrong before a run was started.
type earlyError struct{ err error }

func (e *earlyError) Error() string { return fmt.Sprintf("nothing was started: %v", e.err) }
func (e *earlyError) Unwrap() error { return e.err }

func isEarly(err error) bool {
	_, ok := errors.AsType[*earlyError](err)
	return ok
}

package completions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/rescue"
)

const (
	// freshFor is how long a list of profiles is taken without asking again.
	freshFor = 2 * time.Second
	// staleWait is how long GET /v1/models waits for a newer list before it
	// answers with the old one.
	staleWait = 100 * time.Millisecond
	// listWait is how long it waits where the backend was not there when it was
	// asked last. UIs ask all their servers at once and wait for the slowest. For the
	// first list of a backend in this process it waits as long as a question takes: that
	// backend is there, and only slow.
	listWait = 900 * time.Millisecond
	// refreshTimeout bounds one question to the backend.
	refreshTimeout = 5 * time.Second
)

// catalogue is the list of profiles, kept so that neither a list nor a run has
// to wait for the backend. At most one question to the backend is under way.
type catalogue struct {
	backend   agentapi.Backend
	inProcess bool // the backend is in this process
	now       func() time.Time
	failed    func(error) // is told of every question that was not answered
	life      context.Context
	end       context.CancelFunc
	wg        sync.WaitGroup

	mu     sync.Mutex
	seen   bool // there is a list
	list   []agentapi.Profile
	at     time.Time     // of the last question that was answered or failed
	err    error         // of that question
	flight chan struct{} // closed when the one under way has ended; nil if none is

	revisions map[string]string   // of each profile, as the backend said last
	ahead     map[string]struct{} // profiles that a run was started with while the list was old
}

func newCatalogue(core *gate.Core) *catalogue {
	c := &catalogue{
		backend: core.Backend, inProcess: core.InProcess, now: core.Now, failed: core.QuestionFailed, revisions: make(map[string]string), ahead: make(map[string]struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func (c *catalogue) close() {
	c.end()
	c.wg.Wait()
}

// refresh asks the backend, or joins the question that is under way. The
// channel is closed when the answer is there.
func (c *catalogue) refresh(ctx context.Context) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != nil {
		return c.flight
	}
	done := make(chan struct{})
	c.flight = done
	c.wg.Go(func() { // ends with the question, at the latest after refreshTimeout
		// Whoever asked first may go before the answer is there.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		var list []agentapi.Profile
		err := rescue.Do(func() (err error) {
			list, err = c.backend.Profiles(ctx)
			return err
		})
		if err != nil && ctx.Err() != nil {
			err = c.silent() // not in time; for the caller that is a slow server, not an internal error
		}
		if err != nil && c.life.Err() == nil {
			c.failed(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.at, c.err = c.now(), err; err == nil {
			c.adopt(list)
		}
		c.flight = nil
		close(done)
	})
	return done
}

// adopt stores a new list. The caller holds c.mu.
//
// A run that was started from an old list is remembered under an old revision,
// although the profile it really used is the new one. If the new revision were
// taken over then, its client's next attempt would look like one after a
// repair, and the agent would run twice. So such a profile keeps the revision
// that its runs know.
func (c *catalogue) adopt(list []agentapi.Profile) {
	before := make(map[string]string, len(c.list))
	for _, p := range c.list {
		before[p.Name] = p.Revision
	}
	revisions := make(map[string]string, len(list))
	for i, p := range list {
		revisions[p.Name] = p.Revision
		known, was := before[p.Name]
		_, ahead := c.ahead[p.Name]
		if was && (ahead || p.Revision == c.revisions[p.Name]) {
			list[i].Revision = known
		}
	}
	c.list, c.seen, c.revisions = list, true, revisions
	clear(c.ahead)
}

// used renews the list after a request took a profile from an old one. With
// started a run was started with it.
func (c *catalogue) used(ctx context.Context, profile string, started bool) {
	if started {
		c.mu.Lock()
		c.ahead[profile] = struct{}{}
		c.mu.Unlock()
	}
	c.refresh(ctx)
}

// doubt asks the backend again if p says that it may be gone, so that the next
// request knows before it begins.
func (c *catalogue) doubt(ctx context.Context, p *gate.Problem) {
	switch p.Wire.Code {
	case gate.CodeServerUnavailable, gate.CodeServerLost, gate.CodeAgentUnavailable, gate.CodeAgentLost:
		c.refresh(ctx)
	}
}

// state is what is known without asking. An age below freshFor is young.
func (c *catalogue) state() (list []agentapi.Profile, good, young bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	good = c.seen && c.err == nil
	return c.list, good, good && c.now().Sub(c.at) < freshFor
}

// quick is the list without waiting, old or not, unless the last question
// failed, or there was none: then it is worth waiting for.
func (c *catalogue) quick(ctx context.Context) (list []agentapi.Profile, old bool, err error) {
	if list, good, young := c.state(); good {
		return list, !young, nil
	}
	list, _, err = c.renewed(ctx, refreshTimeout)
	return list, false, err
}

// newest is the list that the backend has now. A backend that does not answer in time is
// an error: that a model is missing in an old list says nothing about the backend.
func (c *catalogue) newest(ctx context.Context) ([]agentapi.Profile, error) {
	return c.asked(ctx, refreshTimeout)
}

// asked asks the backend and waits for its answer; none within wait is an error.
func (c *catalogue) asked(ctx context.Context, wait time.Duration) ([]agentapi.Profile, error) {
	done := c.refresh(ctx)
	if err := await(ctx, done, wait); err != nil {
		return nil, err
	}
	select {
	case <-done:
		list, _, err := c.known()
		return list, err
	default:
		return nil, c.silent()
	}
}

// complete returns the list for a person: a new one if it can be had soon, else an old
// one, even of a backend that is down.
func (c *catalogue) complete(ctx context.Context) ([]agentapi.Profile, error) {
	list, good, young := c.state()
	if young {
		return list, nil
	}
	wait := listWait
	switch {
	case good:
		wait = staleWait
	case c.inProcess && list == nil:
		wait = refreshTimeout
	}
	list, seen, err := c.renewed(ctx, wait)
	if seen {
		return list, nil
	}
	return nil, err
}

// ready reports whether the backend answers now, without asking it more often
// than any other use of the list.
func (c *catalogue) ready(ctx context.Context) error {
	if _, _, young := c.state(); young {
		return nil
	}
	_, err := c.asked(ctx, gate.BackendTimeout)
	return err
}

// renewed asks the backend and waits for the answer; after wait it takes what
// is known. The error is why the last question failed; the list may be there
// all the same.
func (c *catalogue) renewed(ctx context.Context, wait time.Duration) (list []agentapi.Profile, seen bool, err error) {
	if err := await(ctx, c.refresh(ctx), wait); err != nil {
		return nil, false, err
	}
	return c.known()
}

func (c *catalogue) known() (list []agentapi.Profile, seen bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.err; err == nil && !c.seen {
		err = c.silent()
	}
	return c.list, c.seen, err
}

// silent returns the error of a backend that has not answered in time.
func (c *catalogue) silent() error {
	if c.inProcess {
		return agentapi.InProcess(&agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The list of models is not ready, because this machine is busy; nothing was started. Try again in a moment."})
	}
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent-server does not answer; nothing was started."}
}

// await waits for done, no longer than wait. Its error is ctx's.
func await(ctx context.Context, done <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for the list of models: %w", ctx.Err())
	}
	return nil
}

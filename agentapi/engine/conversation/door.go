package conversation

import (
	"context"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
)

// door is what other goroutines talk to: what they ask for, and whether the conversation
// is still there. It knows nothing of what is asked for.
type door struct {
	commands chan func()
	gone     chan struct{}  // closed when the conversation's goroutine has ended
	serving  sync.WaitGroup // that goroutine
	workers  sync.WaitGroup // what is at work for the conversation
	closers  sync.WaitGroup // what closes its tools

	// What follows belongs to the conversation's goroutine.

	inbox       []*delivery
	taking      *delivery     // on its way into the log; nil: none
	wanted      bool          // a run was asked for: what waits may run
	shortenings []*shortening // asked for by a person, and done between two runs
	errands     []func()      // that need time, done between two runs

	life  life
	ended *agentapi.Error // why it is closed; nil: no caller has closed it
	lost  error           // another process has the conversation
}

func newDoor() *door {
	return &door{commands: make(chan func()), gone: make(chan struct{})}
}

// life is how far a conversation is from its end. It goes on in one direction only.
type life int

const (
	alive   life = iota
	closing      // nothing more is begun but what belongs to the end
	broken       // a panic has ended it: nothing more is done
)

// close has the goroutine end when it has done what it is at.
func (d *door) close() { d.life = max(d.life, closing) }

// closeFor closes the door and keeps the error that users of the conversation get.
func (d *door) closeFor(why *agentapi.Error) {
	d.close()
	d.ended = why
}

// lose closes the door because another process has taken the conversation.
func (d *door) lose(to error) {
	d.close()
	d.lost = to
}

// breakDown says that a panic has ended the conversation.
func (d *door) breakDown() { d.life = broken }

// delivery is a message on its way into the log.
type delivery struct {
	ctx     context.Context
	content []event.Content
	sender  string
	always  bool           // it is taken where actions wait, too; see Append
	run     bool           // it is to be answered
	goal    *goal          // of the message; nil: it has none
	meter   agentapi.Meter // limits the runs that answer it; may be nil
	taken   chan error     // of one place
	id      string         // of the event; empty: any
	kept    bool           // it is among the messages that wait on the disk
}

// try has the conversation's goroutine run f and returns its error. Otherwise the
// error is ctx's, or that of a conversation that is closed, and f did not run. This is
// the only way to the state of a conversation from another goroutine.
func (d *door) try(ctx context.Context, f func() error) (err error) {
	done, ran := make(chan struct{}), false
	select {
	case d.commands <- func() { defer close(done); err = f(); ran = true }:
		if <-done; !ran {
			return errClosed
		}
		return err
	case <-d.gone:
		return d.closed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delivered waits until a message is in the log.
func (d *door) delivered(m *delivery) error {
	select {
	case err := <-m.taken:
		return err
	case <-m.ctx.Done():
	case <-d.gone:
	}
	return d.withdraw(m)
}

// withdraw takes a message back, unless it is already in the log.
func (d *door) withdraw(m *delivery) error {
	waiting := false
	err := d.try(context.WithoutCancel(m.ctx), func() error {
		if i := slices.Index(d.inbox, m); i >= 0 {
			d.inbox, waiting = slices.Delete(d.inbox, i, i+1), true
		}
		return nil
	})
	select {
	case taken := <-m.taken:
		return taken
	default:
	}
	if waiting {
		return m.ctx.Err()
	}
	if err != nil {
		return err
	}
	return <-m.taken
}

// receive puts a message into the inbox.
func (d *door) receive(m *delivery) { d.inbox = append(d.inbox, m) }

// admit has accept take a message into the log, which is on its way there meanwhile.
func (d *door) admit(m *delivery, accept func(*delivery) error) error {
	d.taking = m
	err := accept(m)
	d.taking = nil
	return err
}

// next takes the first message out of the inbox.
func (d *door) next() *delivery {
	m := d.inbox[0]
	d.inbox = d.inbox[1:]
	return m
}

// refuseInbox refuses the messages that would answer a question that was not asked yet.
func (d *door) refuseInbox() {
	kept := d.inbox[:0]
	for _, m := range d.inbox {
		if m.always {
			kept = append(kept, m)
			continue
		}
		m.taken <- &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The run ended before it accepted the message; send the message again."}
	}
	d.inbox = kept
}

// leaveUnanswered keeps the messages that were appended, and are not in the log yet,
// from starting a run.
func (d *door) leaveUnanswered() {
	for _, m := range d.inbox {
		m.run = m.run && !m.always
	}
	if d.taking != nil {
		d.taking.run = d.taking.run && !d.taking.always
	}
}

// requestRun asks for a run.
func (d *door) requestRun() { d.wanted = true }

// dropRequest drops the request for a run, which begins now or is not wanted any more.
func (d *door) dropRequest() { d.wanted = false }

// queueShortening has a condensation done between two runs.
func (d *door) queueShortening(s *shortening) { d.shortenings = append(d.shortenings, s) }

// nextShortening takes the first of those that wait.
func (d *door) nextShortening() *shortening {
	s := d.shortenings[0]
	d.shortenings = d.shortenings[1:]
	return s
}

// queueErrand has an errand done between two runs.
func (d *door) queueErrand(errand func()) { d.errands = append(d.errands, errand) }

// nextErrand takes the first of those that wait.
func (d *door) nextErrand() func() {
	errand := d.errands[0]
	d.errands = d.errands[1:]
	return errand
}

// shut answers all that still waits, with the reason of the end. It is the last thing
// that the goroutine does for others.
func (d *door) shut() {
	for _, m := range d.inbox {
		m.taken <- d.closed()
	}
	for _, s := range d.shortenings {
		s.answer(agentapi.Condensed{}, d.closed())
	}
	close(d.gone)
}

// over reports whether the conversation's goroutine has ended.
func (d *door) over() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

// closed returns the error of a conversation that is not open any more.
func (d *door) closed() error {
	select {
	case <-d.gone:
	default:
		// The goroutine itself asks; others must not read lost and ended before its end.
	}
	if d.lost != nil {
		return &agentapi.Error{
			Kind: agentapi.ErrLost,
			Msg:  "Another process has taken over this conversation; wait until it is done, or use that process.",
			Err:  d.lost, InProcess: true,
		}
	}
	if d.ended != nil {
		return d.ended
	}
	return errClosed
}

// unlessEnded returns err, or the error of a closed conversation: then the context of the
// question ends, too, and either may be noticed first.
func (d *door) unlessEnded(err error) error {
	if d.over() {
		return d.closed()
	}
	return err
}

// errReopened says that the conversation is open again soon.
var errReopened = &agentapi.Error{
	Kind: agentapi.ErrUnavailable, Msg: "The conversation was changed; open it again.", Err: control.ErrReopened, InProcess: true,
}

var errRemoved = &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: "The conversation was deleted.", InProcess: true}

var errClosed = &agentapi.Error{
	Kind: agentapi.ErrUnavailable,
	Msg:  "The conversation was closed here; open it again.", InProcess: true,
}

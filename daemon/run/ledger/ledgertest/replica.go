package ledgertest

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Replica is one gateway's side of a State. It implements ledger.Ledger and, by Shots,
// ledger.Shots. The mutex of its State guards it.
type Replica struct {
	s  *State
	id int64

	dead   bool
	silent time.Time // since when it gives no sign of life; zero: it does
	frozen bool
	fails  map[string]error
	loses  map[string]error
	calls  []string
}

var _ ledger.Ledger = (*Replica)(nil)

// Fail lets a call fail before it has done anything, by its name in lower case. An empty name
// means every call, and nil ends that.
func (r *Replica) Fail(call string, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.fails[call] = err
}

// Lose lets the answer of a call be lost: the call has done what it does, and its caller
// gets err. It is for Claim, End and Release.
func (r *Replica) Lose(call string, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.loses[call] = err
}

// Calls counts the calls of a name.
func (r *Replica) Calls(name string) (n int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, c := range r.calls {
		if c == name {
			n++
		}
	}
	return n
}

// Die ends the session of the gateway: at once its runs are for the others.
func (r *Replica) Die() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.dead = true
	r.s.wake()
}

// CutOff lets the lease of the gateway be over. It does not know of that.
func (r *Replica) CutOff() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.silent = r.s.now().Add(-2 * lease)
	r.s.wake()
}

// Freeze stops the gateway: its calls return after Thaw, and it gives no sign of life.
func (r *Replica) Freeze() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.frozen, r.silent = true, r.s.now()
	time.AfterFunc(lease+time.Millisecond, func() {
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		r.s.wake() // the others see that it is dead
	})
}

// Thaw ends Freeze, and CutOff.
func (r *Replica) Thaw() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.frozen, r.silent = false, time.Time{}
	r.s.wake()
}

// enter begins a call.
func (r *Replica) enter(ctx context.Context, call string) error {
	var err error
	waited := r.s.wait(ctx, func() bool {
		err = r.fails[call]
		if err == nil {
			err = r.fails[""]
		}
		return !r.frozen
	})
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.calls = append(r.calls, call)
	if waited != nil {
		return fmt.Errorf("%w: %w", ledger.ErrAway, waited)
	}
	return err
}

// lost returns the error of a call whose answer is lost. The caller holds s.mu.
func (r *Replica) lost(call string) error { return r.loses[call] }

// own is the run of a ticket, if it is the caller's and not over. The caller holds s.mu.
func (r *Replica) own(t ledger.Ticket) (*entry, error) {
	e := r.s.run(t.Run)
	if e == nil || e.Epoch != t.Epoch || e.phase == ledger.Ended {
		return nil, ledger.ErrFenced
	}
	return e, nil
}

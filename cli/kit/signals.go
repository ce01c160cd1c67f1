package kit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ohgw/ohgw/internal/fault"
)

// stopError is the cause of a context that a signal has ended.
type stopError struct{ signal syscall.Signal }

func (e stopError) Error() string { return e.signal.String() }

// WithSignals makes a context that ends with the first SIGINT or SIGTERM, or
// with SIGHUP when the terminal is closed. The second one calls exit with 128
// and its number: who presses Ctrl-C twice does not want to wait. stop ends the
// watch.
func WithSignals(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2) // both, should they come at once
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ignored := make(chan os.Signal, 1)
	if signal.Ignored(syscall.SIGHUP) { // nohup
		// This program ignores it still, but the shells of agents do not inherit
		// that: their commands end with their terminal, also after a SIGKILL.
		signal.Notify(ignored, syscall.SIGHUP)
	} else {
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	keys := &interruptKeys{}
	watch.Go(func() {
		for first := true; ; {
			select {
			case <-done:
				return
			case s := <-signals:
				number, _ := s.(syscall.Signal)
				if number == syscall.SIGINT && keys.take() {
					continue
				}
				if !first {
					exit(128 + int(number))
					return
				}
				first = false
				cancel(stopError{number})
			}
		}
	})
	return context.WithValue(ctx, keysOf{}, keys), func() {
		signal.Stop(signals)
		signal.Stop(ignored)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// interruptKeys lets a command have Ctrl-C for itself: what it stops then is
// not the program.
type interruptKeys struct {
	mu sync.Mutex
	to chan<- struct{} // nil: no command wants them
}

// keysOf finds the interruptKeys in a context.
type keysOf struct{}

// take reports whether a command got the interrupt.
func (k *interruptKeys) take() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.to == nil {
		return false
	}
	select {
	case k.to <- struct{}{}:
	default: // the one before has not been seen yet
	}
	return true
}

func (k *interruptKeys) lead(to chan<- struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.to = to
}

// leave ends what lead began, unless another caller leads now.
func (k *interruptKeys) leave(to chan<- struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.to == to {
		k.to = nil
	}
}

// Interrupts brings each Ctrl-C to the caller, in place of ending ctx, until
// it gives them back.
func Interrupts(ctx context.Context) (keys <-chan struct{}, giveBack func()) {
	k, ok := ctx.Value(keysOf{}).(*interruptKeys)
	if !ok {
		return nil, func() {}
	}
	to := make(chan struct{}, 1)
	k.lead(to)
	return to, func() { k.lead(nil) }
}

// late is how long after another program has ended a Ctrl-C may still be on its way
// that was meant for it.
const late = time.Second

// LendTerminal drops each Ctrl-C while another program has the terminal. The terminal
// sends it to both programs, and it can reach this one when the other one has ended
// already: so it ends ctx again a moment after giveBack only.
func LendTerminal(ctx context.Context) (giveBack func()) {
	k, ok := ctx.Value(keysOf{}).(*interruptKeys)
	if !ok {
		return func() {}
	}
	dropped := make(chan struct{}, 1)
	k.lead(dropped)
	return func() { time.AfterFunc(late, func() { k.leave(dropped) }) }
}

// SurvivePipes lets writes to an output without a reader fail. Otherwise such a write
// ends the program before it can release what it has started. The processes that it
// starts are not changed by it.
func SurvivePipes() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// Interrupted tells whether a command failed because a signal has stopped it,
// and with which exit code it ends then.
func Interrupted(ctx context.Context, err error) (fault.Code, bool) {
	e, ok := errors.AsType[stopError](context.Cause(ctx))
	if _, own := errors.AsType[stopError](err); !ok || !own && !errors.Is(err, context.Canceled) {
		return 0, false
	}
	return fault.Code(128 + int(e.signal)), true
}

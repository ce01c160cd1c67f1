package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/ohgw/ohgw/internal/fault"
)

// signalError is the cause of a context that a signal has ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return e.signal.String() }

// withSignals makes a context that ends with the first SIGINT or SIGTERM. The
// second one calls exit with 128 and its number: who presses Ctrl-C twice does
// not want to wait. stop ends the watch.
func withSignals(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2) // both, should they come at once
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for first := true; ; first = false {
			select {
			case <-done:
				return
			case s := <-signals:
				number, _ := s.(syscall.Signal)
				if !first {
					exit(128 + int(number))
					return
				}
				cancel(signalError{number})
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// survivePipes lets writes to an output that nobody reads fail, where they
// would end the program before it can let go of what it has started. The
// processes that it starts are not changed by it.
func survivePipes() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// interrupted tells whether a command failed because a signal has stopped it,
// and with which exit code it ends then.
func interrupted(ctx context.Context, err error) (fault.Code, bool) {
	e, ok := errors.AsType[signalError](context.Cause(ctx))
	if _, own := errors.AsType[signalError](err); !ok || !own && !errors.Is(err, context.Canceled) {
		return 0, false
	}
	return fault.Code(128 + int(e.signal)), true
}

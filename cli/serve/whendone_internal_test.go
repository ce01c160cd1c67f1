package serve

import (
	"context"
	"testing"
	"time"
)

// late is a context that ends, and begins the functions of context.AfterFunc so much
// later that they can still be stopped: every context does so for a moment.
type late struct {
	context.Context

	done chan struct{}
	err  error
}

func (l *late) Done() <-chan struct{} { return l.done }

func (l *late) Err() error { return l.err }

// AfterFunc is what context.AfterFunc calls.
func (*late) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

func TestTheEndIsToldAlsoByWhoSeesItFirst(t *testing.T) {
	t.Parallel()
	ctx := &late{Context: t.Context(), done: make(chan struct{})}
	told := 0
	settled := whenDone(ctx, func() { told++ })
	ctx.err = context.Canceled
	close(ctx.done)
	settled()
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestTheEndIsToldOnce(t *testing.T) {
	t.Parallel()
	for range 1000 {
		ctx, end := context.WithCancel(t.Context())
		told := make(chan struct{}, 2)
		settled := whenDone(ctx, func() { told <- struct{}{} })
		go end()
		<-ctx.Done()
		settled()
		if len(told) != 1 {
			t.Fatalf("told %d times", len(told))
		}
	}
}

func TestNothingIsToldBeforeTheEnd(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithTimeout(t.Context(), time.Hour)
	defer end()
	whenDone(ctx, func() { t.Error("told") })()
}

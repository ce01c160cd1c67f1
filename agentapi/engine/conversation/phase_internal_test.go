package conversation

import (
	"context"
	"testing"
)

// A phase goes on in one direction: a pause does not take back an interrupt.
func TestAPauseDoesNotTakeBackAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{job: &job{ctx: ctx, cancel: cancel}}
	r.pause()
	if r.phase != pausing || ctx.Err() != nil {
		t.Errorf("a pause leads to phase %d, and its job ends with %v; want phase %d and a job that goes on", r.phase, ctx.Err(), pausing)
	}
	r.stop()
	r.pause()
	if r.phase != stopping || ctx.Err() == nil {
		t.Errorf("an interrupt and a pause lead to phase %d, and its job ends with %v; want phase %d and a job that ends", r.phase, ctx.Err(), stopping)
	}
}

// A conversation that is broken does not become one that is closing: nothing may be
// done at its end.
func TestWhatIsBrokenStaysBroken(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.close()
	if d.life != closing {
		t.Errorf("a conversation that is closed is at %d, want %d", d.life, closing)
	}
	d.life = broken
	d.close()
	if d.life != broken {
		t.Errorf("a broken conversation that is closed is at %d, want %d", d.life, broken)
	}
}

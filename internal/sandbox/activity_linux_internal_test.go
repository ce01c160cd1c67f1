package sandbox

import (
	"errors"
	"testing"
	"time"
)

// A program that runs, or waits for a processor, is always busy, and so is one whose
// child does. One that sleeps is not, once it has started.
func TestActivityOfAGroup(t *testing.T) {
	t.Parallel()
	const loop = "while :; do :; done"
	for script, want := range map[string]bool{loop: true, "(" + loop + ") & wait": true, "sleep 1000 & wait": false} {
		box := Outside(Off, Mark{})
		p, err := box.Start(t.Context(), Program{Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		busy, used := activity(p.PID())
		for t.Context().Err() == nil && (busy != want || want && used == 0) { // it starts first
			busy, used = activity(p.PID())
		}
		for range 20 {
			if now, more := activity(p.PID()); want && !now || more < used {
				t.Errorf("%s: busy %v, %v after %v", script, now, more, used)
			}
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A program that computes for ever is ended by the processor's time it uses.
func TestALoopIsEnded(t *testing.T) {
	t.Parallel()
	loop := Program{Args: []string{"/bin/sh", "-c", "while :; do :; done"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir()}
	if _, err := AskPatiently(t.Context(), loop, 100*time.Millisecond); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the error is %v", err)
	}
}

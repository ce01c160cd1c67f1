package waittest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// recorder is a test that only notes its failure.
type recorder struct {
	failure string
	end     time.Time // its deadline, if it has one
}

func (r *recorder) Fatalf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

func (r *recorder) Deadline() (time.Time, bool) { return r.end, !r.end.IsZero() }

func TestUntilGoesOnAsSoonAsItSeesWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		r := &recorder{}
		waittest.Until(r, waittest.Patience, "five looks", func() (any, bool) {
			looks++
			return looks, looks == 5
		})
		if took := time.Since(began); looks != 5 || took != 40*time.Millisecond || r.failure != "" {
			t.Errorf("looks = %d after %s, failure %q, want 5 after 40ms without a failure", looks, took, r.failure)
		}
	})
}

func TestUntilFailsWithWhatItSawLast(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deadline time.Duration
		want     string
		took     time.Duration
	}{
		"after the limit":     {0, "not within 20ms: a tenth look. Last seen: look 4", 30 * time.Millisecond},
		"before the deadline": {5*time.Second + 10*time.Millisecond, "not within 10ms: a tenth look. Last seen: look 3", 20 * time.Millisecond},
		"far from it":         {time.Hour, "not within 20ms: a tenth look. Last seen: look 4", 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, looks, r := time.Now(), 0, &recorder{}
				if tt.deadline > 0 {
					r.end = began.Add(tt.deadline)
				}
				waittest.Until(r, 20*time.Millisecond, "a tenth look", func() (any, bool) {
					looks++
					return fmt.Sprintf("look %d", looks), false
				})
				if took := time.Since(began); r.failure != tt.want || took != tt.took {
					t.Errorf("failure = %q after %s, want %q after %s", r.failure, took, tt.want, tt.took)
				}
			})
		})
	}
}

func TestPollLooksOnceMoreAfterALongPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		ok := waittest.Poll(time.Second, func() bool {
			looks++
			if looks == 1 {
				time.Sleep(time.Hour) // the machine was busy
			}
			return looks == 2
		})
		if !ok || looks != 2 {
			t.Errorf("Poll = %t after %d looks, want true after 2", ok, looks)
		}
	})
}

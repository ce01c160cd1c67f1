//go:build unix

package terminal

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Who asks gets what was looked at after that, and who waits shares one look.
func TestAScanIsSharedByThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, looks atomic.Int64
		s := newScan(func() int64 {
			looks.Add(1)
			seen := now.Load()
			time.Sleep(time.Second) // a machine with many processes
			return seen
		})
		var wg sync.WaitGroup
		for asked := range int64(40) {
			now.Store(asked)
			wg.Go(func() {
				if seen := s.get(); seen < asked {
					t.Errorf("asked at %d, told what was there at %d", asked, seen)
				}
			})
			synctest.Wait() // the first look goes on
		}
		wg.Wait()
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks for 40 questions, want 2", n)
		}
	})
}

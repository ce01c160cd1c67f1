package shortlived_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/shortlived"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// percent is how much the heap may grow now.
func percent() int {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return int(gogc[0].Value.Uint64())
}

// wantAfterGC collects until the heap may grow by so many percent.
func wantAfterGC(t *testing.T, want int) {
	t.Helper()
	waittest.Until(t, time.Minute, "the percentage", func() (any, bool) {
		runtime.GC()
		got := percent()
		return got, got == want
	})
}

func TestTheUsersGOGCStays(t *testing.T) {
	before := debug.SetGCPercent(70)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for _, gogc := range []string{"70", "100", "off"} {
		t.Setenv("GOGC", gogc)
		shortlived.Stay(50)
		shortlived.StayAt(shortlived.Pace{Small: 100, Large: 50})
		runtime.GC()
		if got := percent(); got != 70 {
			t.Errorf("GOGC=%s: the percentage = %d, want 70", gogc, got)
		}
	}
	t.Setenv("GOGC", "")
	if shortlived.Stay(50); percent() != 50 {
		t.Errorf("the percentage = %d, want 50", percent())
	}
}

func TestALargeHeapMayGrowByLess(t *testing.T) {
	t.Setenv("GOGC", "")
	before := percent()
	t.Cleanup(func() { debug.SetGCPercent(before) })
	shortlived.StayAt(shortlived.Pace{Small: 120, Large: 60, Limit: 32 << 20})
	if got := percent(); got != 120 {
		t.Errorf("the percentage = %d, want 120", got)
	}
	for range 2 {
		held := make([]byte, 64<<20)
		wantAfterGC(t, 60)
		runtime.KeepAlive(held)
		wantAfterGC(t, 120)
	}
}

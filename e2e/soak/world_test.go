//go:build e2e && soak

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// world is what is around the program: its disk, its clock and who stops it.
type world struct {
	disk    string // where the state is
	small   bool   // the disk is one of its own, which can be filled
	clock   string // the file of the clock
	daemons []*daemon

	// epoch changes whenever something happens that a program may not remember
	// a turn over: a restart, a jump of the clock, a full disk.
	epoch  atomic.Int64
	jumped atomic.Bool   // by a day, which is how long keys are kept
	latest time.Duration // the largest offset of the clock so far
	count  map[string]int
}

// diskSize is small enough to be filled in a second, and large enough for all that
// half an hour keeps, in bytes.
const diskSize = 2 << 30

// newDisk mounts a small disk for the state where that is allowed.
func newDisk(t *testing.T) (dir string, small bool) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", diskSize))
	if err != nil {
		t.Logf("the disk is not filled: mounting a small one: %v", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir, true
}

// disturb does one thing after another until ctx ends.
func (w *world) disturb(ctx context.Context, t *testing.T, r *rand.Rand) {
	t.Helper()
	events := []struct {
		name string
		do   func(context.Context, *testing.T, *rand.Rand)
	}{
		{"SIGTERM", func(_ context.Context, t *testing.T, r *rand.Rand) { w.any(r).restart(t, syscall.SIGTERM) }},
		{"SIGKILL", func(_ context.Context, t *testing.T, r *rand.Rand) { w.any(r).restart(t, syscall.SIGKILL) }},
		{"full disk", w.fill},
		{"clock jump", w.jump},
	}
	for i := 0; ; i++ {
		if !pause(ctx, time.Duration(4000+r.IntN(8000))*time.Millisecond) {
			return
		}
		e := events[i%len(events)] // each as often as the others, even in a short run
		if e.name == "full disk" && !w.small {
			continue
		}
		w.epoch.Add(1)
		e.do(ctx, t, r)
		w.epoch.Add(1)
		w.count[e.name]++
	}
}

func (w *world) any(r *rand.Rand) *daemon { return w.daemons[r.IntN(len(w.daemons))] }

// fill leaves no byte on the disk for a while.
func (w *world) fill(ctx context.Context, t *testing.T, r *rand.Rand) {
	t.Helper()
	path := filepath.Join(w.disk, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Errorf("fill the disk: %v", err)
		return
	}
	block := make([]byte, 1<<20)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	pause(ctx, time.Duration(500+r.IntN(3000))*time.Millisecond)
	_ = f.Close()
	if err := os.Remove(path); err != nil {
		t.Errorf("empty the disk: %v", err)
	}
}

// jump moves the clock.
func (w *world) jump(_ context.Context, t *testing.T, r *rand.Rand) {
	t.Helper()
	offsets := []string{"0s", "90s", "-45s", "1h", "-1h", "25h", "-25h"}
	offset := offsets[r.IntN(len(offsets))]
	if len(offset) > 2 && offset[len(offset)-3:] == "25h" {
		w.jumped.Store(true)
	}
	if d, err := time.ParseDuration(offset); err == nil {
		w.latest = max(w.latest, d)
	}
	w.setClock(t, offset)
	time.Sleep(time.Second) // the program reads it every 50 ms, a busy machine later
}

func (w *world) setClock(t *testing.T, offset string) {
	t.Helper()
	if err := os.WriteFile(w.clock+".new", []byte(offset), 0o600); err != nil {
		t.Error(err)
		return
	}
	if err := os.Rename(w.clock+".new", w.clock); err != nil {
		t.Error(err)
	}
}

// pause waits; it is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

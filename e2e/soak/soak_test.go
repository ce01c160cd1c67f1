//go:build e2e && soak

package soak_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// clients is how many work at the same time.
const clients = 64

// TestSoak runs for OHGW_SOAK (30m) with the seed OHGW_SOAK_SEED (the time).
func TestSoak(t *testing.T) {
	length, seed := 30*time.Minute, uint64(time.Now().UnixNano())
	if v := os.Getenv("OHGW_SOAK"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatalf("OHGW_SOAK: %v", err)
		}
	}
	if v := os.Getenv("OHGW_SOAK_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("OHGW_SOAK_SEED: %v", err)
		}
	}
	t.Logf("%v with OHGW_SOAK_SEED=%d", length, seed)

	llm := llmtest.New(t)
	disk, small := newDisk(t)
	outside := t.TempDir()
	shared := t.TempDir() // the one directory outside of their workspaces in which commands write
	b := newBooks(llm, filepath.Join(shared, "ledger"))
	if err := os.WriteFile(b.ledger, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	w := &world{disk: disk, small: small, clock: filepath.Join(outside, "clock"), count: map[string]int{}}
	program := build(t)
	open := newDaemon(t, program, disk, w.clock, llm.URL, "open", "--sandbox-write", shared)
	asks := newDaemon(t, program, disk, w.clock, llm.URL, "asks", "--sandbox-write", shared, "--confirm", "always")
	w.daemons = []*daemon{open, asks}
	for _, d := range w.daemons {
		d.start(t)
	}
	actors := make([]*actor, clients)
	for i := range actors {
		actors[i] = &actor{books: b, world: w, open: open, asks: asks, r: rand.New(rand.NewPCG(seed, uint64(i))), named: map[*daemon]int{}}
	}

	warmUp(t, actors[0])
	before := settled(t, w.daemons, nil, actors)
	load(t, w, actors, length, rand.New(rand.NewPCG(seed, clients)))
	// The clock of timers moves with that of the day here, which no machine's does:
	// what was to happen within seconds would be due when this clock is there again.
	w.setClock(t, w.latest.String())
	verifyAll(t, actors)
	after := settled(t, w.daemons, before, actors)
	for i, d := range w.daemons {
		t.Logf("%s, started %d times\n\tat the start: %v\n\tat the end:   %v", filepath.Base(filepath.Dir(d.State)), d.starts, before[i], after[i])
		if !within(before[i], after[i], allowed(before[i], d, actors)) {
			t.Errorf("the process or its disk holds more than it should")
		}
	}
	noneLeft(t)
	for _, d := range w.daemons {
		d.end(t)
	}
	python(t, open, 8)
	b.close(t)
	for _, name := range slices.Sorted(maps.Keys(w.count)) {
		t.Logf("%-12s %4d times", name, w.count[name])
	}
}

// build builds the program with its clock.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ohgw")
	args := []string{"build", "-o", path}
	if os.Getenv("OHGW_SOAK_RACE") != "" {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "./program")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// warmUp does everything once, so that what is made once for good is there.
func warmUp(t *testing.T, a *actor) {
	t.Helper()
	for _, k := range kinds {
		k.do(a, t.Context())
	}
	a.collect()
}

// load lets all clients work for so long, and everything happen that can, the
// last sixth of the time excepted.
func load(t *testing.T, w *world, actors []*actor, length time.Duration, r *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for _, a := range actors {
		// What has begun when the time is over is brought to its end.
		all.Go(func() { a.act(withoutEnd{ctx}) })
	}
	calm, quiet := context.WithTimeout(ctx, length*5/6)
	defer quiet()
	all.Go(func() { w.disturb(calm, t, r) })
	for began := time.Now(); pause(ctx, time.Second); {
		actors[0].collect()
		if s := int(time.Since(began).Seconds()); s%60 == 0 {
			t.Logf("%4d s: %d turns; %v; our own goroutines: %d", s, actors[0].count(), w.daemons[0].usage(t), runtime.NumGoroutine())
		}
	}
	all.Wait()
}

// verifyAll asks every kept conversation for all that was acknowledged in it.
func verifyAll(t *testing.T, actors []*actor) {
	t.Helper()
	work := make(chan func())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for do := range work {
				do()
			}
		})
	}
	n := 0
	for _, a := range actors {
		for _, k := range a.kept {
			if len(k.acked) > 0 {
				n++
				work <- func() { a.verify(t.Context(), t, a, k) }
			}
		}
	}
	close(work)
	all.Wait()
	t.Logf("%d conversations and chats were opened again and had every acknowledged turn", n)
}

// settled waits until the daemons hold no more than they may and gives what
// they hold then; without before, until nothing changes. A removal that failed on
// a full disk is tried again after a minute, and after two.
func settled(t *testing.T, daemons []*daemon, before []usage, actors []*actor) []usage {
	t.Helper()
	now := make([]usage, len(daemons))
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		done := true
		for i, d := range daemons {
			u := d.usage(t)
			if before == nil {
				done = done && u.descriptors == now[i].descriptors && u.processes == now[i].processes && u.conversations == now[i].conversations
			} else {
				done = done && within(before[i], u, allowed(before[i], d, actors))
			}
			now[i] = u
		}
		if done {
			break
		}
	}
	return now
}

// Slack between two measurements of a process that holds the same.
const (
	slackDescriptors = 12
	slackGoroutines  = 24
	slackMemory      = 96 << 20 // the collector gives memory back when it likes
)

func within(before, after usage, conversations int) bool {
	return after.descriptors <= before.descriptors+slackDescriptors && after.goroutines <= before.goroutines+slackGoroutines &&
		after.processes <= before.processes && after.resident <= before.resident+slackMemory &&
		after.conversations <= conversations && after.workspaces <= conversations && len(after.partial) == 0
}

// allowed is how many conversations may be left in a daemon: those with a name.
func allowed(before usage, d *daemon, actors []*actor) int {
	most := before.conversations
	for _, a := range actors {
		most += a.named[d]
		for _, k := range a.kept {
			if k.daemon == d {
				most += k.sent // an edit forks
			}
		}
	}
	return most
}

// noneLeft looks for commands that outlived their turns.
func noneLeft(t *testing.T) {
	t.Helper()
	waittest.Until(t, patience, "no command outlives its turn", func() (any, bool) {
		var left []string
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			if line, err := os.ReadFile(path); err == nil && bytes.HasPrefix(line, []byte("sleep\x00"+endless)) {
				left = append(left, path)
			}
		}
		return left, len(left) == 0
	})
}

// withoutEnd carries on what has begun: only Err says that the time is over.
type withoutEnd struct{ context.Context }

func (withoutEnd) Done() <-chan struct{} { return nil }

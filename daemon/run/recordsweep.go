package run

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// keepRecords is how long an idempotency key is remembered.
	keepRecords = 24 * time.Hour
	// settleClock is how long after its start a process believes no clock that
	// says that a record of another process is over: after a boot the clock may be
	// set soon.
	settleClock = 15 * time.Minute
	// sweepEvery is how often old records are looked for; the first time that
	// long after the start. A batch of sweepBatch is followed by a pause.
	sweepEvery = 20 * time.Minute
	sweepBatch = 100
	sweepPause = 100 * time.Millisecond
)

// over reports whether a record is older than keepRecords.
//
// The age of a record of this process is measured by the monotonic clock, which
// cannot be set. For one of another process there is only the wall clock, which
// may be wrong: such a record is over when the wall clock says so and this
// process is old enough to believe it, and at the latest when this process is
// older than keepRecords itself. So a clock that is set forward forgets no key
// while its client still repeats, and one that is set back keeps none for ever.
func (r *records) over(rec record) bool {
	if rec.process == r.process {
		return r.up()-rec.up >= keepRecords
	}
	return r.up() >= keepRecords || r.up() >= settleClock && r.now().Sub(rec.started) >= keepRecords
}

// up is how long this process runs, by the monotonic clock.
func (r *records) up() time.Duration { return r.now().Sub(r.began) }

// sweep removes what is over, until life ends.
func (r *records) sweep(life context.Context) {
	timer := time.NewTicker(sweepEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-life.Done():
			return
		}
		if r.dir == "" {
			r.sweepMemory()
			continue
		}
		if err := r.sweepDir(life); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.log.Warn("cannot remove old idempotency records", "err", err)
		}
	}
}

// sweepMemory forgets the ended runs that are over.
func (r *records) sweepMemory() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, rec := range r.runs {
		if rec.done && r.over(rec) {
			delete(r.runs, key)
		}
	}
}

// sweepDir reads the directory in small batches.
func (r *records) sweepDir(life context.Context) error {
	dir, err := os.Open(r.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // It was only read.
	for {
		entries, err := dir.ReadDir(sweepBatch)
		for _, e := range entries {
			r.sweepFile(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(sweepPause):
		case <-life.Done():
			return nil
		}
	}
}

// sweepFile removes a file that says nothing any more. What cannot be removed is
// tried again next time.
func (r *records) sweepFile(e fs.DirEntry) {
	info, err := e.Info()
	if err != nil {
		return // gone
	}
	age := r.now().Sub(info.ModTime())
	path := filepath.Join(r.dir, e.Name())
	key, isRecord := strings.CutSuffix(e.Name(), ".json")
	if !isRecord || age < keepRecords && r.up() < keepRecords {
		return
	}
	r.files.Lock()
	defer r.files.Unlock()
	r.mu.Lock()
	_, goesOn := r.runs[key]
	r.mu.Unlock()
	if rec, err := r.read(key); err == nil && !goesOn && r.over(rec) {
		_ = os.Remove(path)
	}
}

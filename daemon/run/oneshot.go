package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// oneShots removes conversations that nobody asked to keep, after their time.
//
// Each is noted in a journal before it is made and struck out after it was
// removed, so that neither a crash nor a restart leaves one behind. The
// journal is not synced: losing its last lines with the machine leaves a
// conversation, never a run.
type oneShots struct {
	cfg    Config
	remove func(context.Context, string) error
	path   string // of the journal; empty: none
	wg     sync.WaitGroup
	life   context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	journal *os.File
	lines   int
	shots   map[string]*oneShot
	closed  bool
}

type oneShot struct {
	ends  time.Time   // zero while it runs
	timer *time.Timer // nil while it runs
}

// note is a line of the journal.
type note struct {
	ID   string    `json:"id"`
	Ends time.Time `json:"ends,omitzero"`
	Gone bool      `json:"gone,omitempty"` // removed, or kept by its client
}

const (
	// removeTimeout bounds one removal. An agent-server answers after the step
	// that is running.
	removeTimeout = 30 * time.Second
	// removeAgain is when a removal that failed is tried again.
	removeAgain = time.Minute
	// orphanTTL is how long a one-shot stays at least whose run was not over when
	// the gateway died: its client may come back for it with its idempotency key.
	orphanTTL = 15 * time.Minute
	// maxJournal is how many lines are written before the journal is rewritten
	// with the living ones only.
	maxJournal = 10_000
)

func openOneShots(cfg Config, remove func(context.Context, string) error) (*oneShots, error) {
	o := &oneShots{cfg: cfg, remove: remove, shots: make(map[string]*oneShot)}
	o.life, o.end = context.WithCancel(context.Background())
	if cfg.StateDir == "" {
		return o, nil
	}
	o.path = filepath.Join(cfg.StateDir, "one-shots.jsonl")
	if err := o.load(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.rewrite(); err != nil {
		return nil, err
	}
	for id, s := range o.shots {
		o.schedule(id, s)
	}
	return o, nil
}

// load reads the journal. A line that was cut off by a crash is the last one.
func (o *oneShots) load() error {
	data, err := os.ReadFile(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read one-shots: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var n note
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			continue
		}
		// The id becomes part of a path below the workspaces.
		if id, err := uuid.Parse(n.ID); err != nil || id != n.ID {
			continue
		}
		if n.Gone {
			delete(o.shots, n.ID)
			continue
		}
		if n.Ends.IsZero() { // the gateway died during its run
			n.Ends = o.cfg.Now().Add(max(o.cfg.OneShotTTL, orphanTTL))
		}
		o.shots[n.ID] = &oneShot{ends: n.Ends}
	}
	return lines.Err()
}

// rewrite makes the journal anew from what is alive. The caller holds o.mu.
func (o *oneShots) rewrite() error {
	if o.journal != nil {
		if err := o.journal.Close(); err != nil {
			return fmt.Errorf("close one-shots: %w", err)
		}
		o.journal = nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for id, s := range o.shots {
		if err := enc.Encode(note{ID: id, Ends: s.ends}); err != nil {
			return fmt.Errorf("encode one-shots: %w", err)
		}
	}
	if err := atomicfile.Write(o.path, buf.Bytes(), atomicfile.Options{}); err != nil {
		return err
	}
	f, err := os.OpenFile(o.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open one-shots: %w", err)
	}
	o.journal, o.lines = f, len(o.shots)
	return nil
}

// write appends a note. The caller holds o.mu.
func (o *oneShots) write(n note) error {
	if o.journal == nil {
		return nil
	}
	line, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode one-shot: %w", err)
	}
	if _, err := o.journal.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("note one-shot: %w", err)
	}
	if o.lines++; o.lines > max(maxJournal, 2*len(o.shots)) {
		return o.rewrite()
	}
	return nil
}

// add notes a one-shot that is about to be made.
func (o *oneShots) add(id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shots[id] = &oneShot{}
	return o.write(note{ID: id})
}

// ended starts the time of a one-shot whose run is over.
func (o *oneShots) ended(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.shots[id]
	if s == nil || o.closed { // kept, never made, or for the next gateway
		return
	}
	s.ends = o.cfg.Now().Add(o.cfg.OneShotTTL)
	if o.cfg.OneShotTTL > 0 {
		o.log(o.write(note{ID: id, Ends: s.ends}))
	}
	o.schedule(id, s)
}

// schedule removes s when its time has come. The caller holds o.mu.
func (o *oneShots) schedule(id string, s *oneShot) {
	s.timer = time.AfterFunc(s.ends.Sub(o.cfg.Now()), func() { o.expire(id, s) })
}

// expire removes the conversation; one that cannot be removed now is tried
// again later.
func (o *oneShots) expire(id string, s *oneShot) {
	o.mu.Lock()
	if o.closed || o.shots[id] != s {
		o.mu.Unlock()
		return
	}
	o.wg.Add(1)
	o.mu.Unlock()
	defer o.wg.Done()

	ctx, cancel := context.WithTimeout(o.life, removeTimeout)
	defer cancel()
	err := o.remove(ctx, id)

	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shots[id] != s {
		return
	}
	if err != nil {
		o.log(err)
		if !o.closed {
			s.ends = o.cfg.Now().Add(removeAgain)
			o.schedule(id, s)
		}
		return
	}
	delete(o.shots, id)
	o.log(o.write(note{ID: id, Gone: true}))
}

// keep strikes out a one-shot that its client continues.
func (o *oneShots) keep(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.shots[id]
	if s == nil {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	delete(o.shots, id)
	o.log(o.write(note{ID: id, Gone: true}))
}

// hold lets a one-shot stay as long as somebody follows its run; ended lets its
// time begin again.
func (o *oneShots) hold(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.shots[id]; s != nil && s.timer != nil {
		s.timer.Stop()
	}
}

// close stops removing. What is left stays in the journal.
func (o *oneShots) close() error {
	o.mu.Lock()
	o.closed = true
	for _, s := range o.shots {
		if s.timer != nil {
			s.timer.Stop()
		}
	}
	o.mu.Unlock()
	o.end()
	o.wg.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.journal == nil {
		return nil
	}
	err := o.journal.Close()
	o.journal = nil
	return err
}

func (o *oneShots) log(err error) {
	if err != nil {
		o.cfg.Logger.Warn("one-shot not removed", "err", err)
	}
}

// removeWorkspace removes the directory that was made for conversation id, if
// there is one. It never touches a directory that a person chose.
func (m *Manager) removeWorkspace(id string) error {
	if m.cfg.Workspace != "" || m.cfg.WorkspaceRoot == "" {
		return nil
	}
	if clean, err := uuid.Parse(id); err != nil || clean != id {
		return fmt.Errorf("remove workspace %q: %w", id, uuid.ErrMalformed)
	}
	if err := os.RemoveAll(filepath.Join(m.cfg.WorkspaceRoot, id)); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return nil
}

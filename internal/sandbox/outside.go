package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/hardening"
)

// ErrClosed is the error of starting a program in a box that was closed.
var ErrClosed = errors.New("the sandbox was closed")

// Outside makes the box of the levels Off and External: its programs have the
// user's rights. It sees to it that they get the given descriptors and no others,
// and that they end with the box, or, on Linux, with ohgw.
//
// The environment of each program has the mark, by which those that left their
// parents are found; the zero Mark marks nothing.
func Outside(level Level, mark Mark) Box {
	hardening.Descriptors() // of a program that has not done that at its beginning
	return &outside{level: level, mark: mark.entry(), running: map[*program]struct{}{}}
}

// User is a user of the system, with one group.
type User struct{ UID, GID uint32 }

// OutsideAs makes a box whose programs have the rights of another user, which only root
// can give. It is for programs that must not run as root.
func OutsideAs(user User, mark Mark) Box {
	hardening.Descriptors()
	return &outside{level: Off, mark: mark.entry(), user: &user, running: map[*program]struct{}{}}
}

type outside struct {
	level Level
	mark  string // the variable of its programs; "" for none
	user  *User  // whose rights they have; nil: ours

	mu       sync.Mutex
	running  map[*program]struct{}
	used     bool
	closed   bool
	programs sync.WaitGroup
}

func (b *outside) Level() Level { return b.level }

// Start starts a program.
func (b *outside) Start(ctx context.Context, p Program) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.Args) == 0 {
		return nil, errors.New("start a program: there are no arguments")
	}
	path, err := Find(p.Args[0], p.Env)
	if err != nil {
		return nil, err
	}
	if b.mark != "" {
		p.Env = append(slices.Clip(p.Env), b.mark)
	}
	p.Env = last(p.Env)
	if p.Files, err = b.files(p.Files); err != nil {
		return nil, err
	}
	defer p.Files[0].Close()
	p.Files = p.Files[1:]
	r := &program{box: b, done: make(chan struct{})}
	if err := b.enter(r); err != nil {
		return nil, err
	}
	if err := r.start(path, p); err != nil {
		b.leave(r)
		return nil, err
	}
	return r, nil
}

// files lists the descriptors of a program without gaps, after one that is to be
// closed.
func (b *outside) files(given []*os.File) ([]*os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	files := append([]*os.File{null}, given...)
	for len(files) < 4 {
		files = append(files, nil)
	}
	for i, f := range files {
		if f == nil {
			files[i] = null
		}
	}
	return files, nil
}

func (b *outside) enter(r *program) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	b.used = true
	b.running[r] = struct{}{}
	b.programs.Add(1)
	return nil
}

func (b *outside) leave(r *program) {
	b.mu.Lock()
	delete(b.running, r)
	b.mu.Unlock()
	b.programs.Done()
}

// Close ends what runs in the box.
func (b *outside) Close() error {
	b.mu.Lock()
	b.closed = true
	used := b.used
	var errs []error
	for r := range b.running {
		errs = append(errs, r.Kill())
	}
	b.mu.Unlock()
	b.programs.Wait()
	if used {
		endMarked(b.mark)
	}
	return errors.Join(errs...)
}

// last keeps of each variable the last value.
func last(env []string) []string {
	seen := make(map[string]bool, len(env))
	out := make([]string, 0, len(env))
	for _, entry := range slices.Backward(env) {
		name, _, _ := strings.Cut(entry, "=")
		if !seen[name] {
			seen[name] = true
			out = append(out, entry)
		}
	}
	slices.Reverse(out)
	return out
}

// ExitError is a program that ended with another code than 0.
type ExitError struct{ Code int }

// Error is the code as it is known from shells.
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

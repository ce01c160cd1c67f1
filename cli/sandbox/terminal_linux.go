package sandbox

import (
	"io"
	"os"
	"os/signal"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// terminal is one that a program in the sandbox has to itself. What is typed at the
// user's terminal goes to it, and what the program prints comes back. The program
// does not get the user's terminal: it could leave it in any state.
type terminal struct {
	theirs, ours *os.File
	user         *os.File // where the user types
	before       *term.State
	resized      chan os.Signal
	copies       sync.WaitGroup
}

// openTerminal opens a terminal, if both streams are those of one; else it is nil.
func openTerminal(in, out *os.File) (*terminal, error) {
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	t := &terminal{theirs: theirs, ours: ours, user: in, resized: make(chan os.Signal, 1)}
	_ = pty.InheritSize(in, ours) // a terminal without a size has the one of all terminals
	if t.before, err = term.MakeRaw(int(in.Fd())); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// give makes the terminal that of a program.
func (t *terminal) give(prog *sandbox.Program) {
	prog.Terminal = true
	prog.Files[0], prog.Files[1] = t.theirs, t.theirs
	if f := prog.Files[2]; f == nil || term.IsTerminal(int(f.Fd())) {
		prog.Files[2] = t.theirs
	}
}

// carry begins to copy. The program has its end.
func (t *terminal) carry(out io.Writer) {
	_ = t.theirs.Close()
	t.theirs = nil
	signal.Notify(t.resized, unix.SIGWINCH)
	go func() { // ends with ohgw: nothing can end a read of a terminal
		_, _ = io.Copy(t.ours, t.user)
	}()
	go func() {
		for range t.resized {
			_ = pty.InheritSize(t.user, t.ours)
		}
	}()
	t.copies.Go(func() { _, _ = io.Copy(out, t.ours) }) // ends when no program has the terminal
}

// close waits for the last output, and leaves the user's terminal as it was.
func (t *terminal) close() {
	if t.theirs != nil {
		_ = t.theirs.Close()
	}
	t.copies.Wait()
	if t.before != nil {
		signal.Stop(t.resized)
		close(t.resized)
		_ = term.Restore(int(t.user.Fd()), t.before)
	}
	_ = t.ours.Close()
}

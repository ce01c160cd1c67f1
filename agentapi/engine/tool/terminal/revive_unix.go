//go:build unix

package terminal

import (
	"context"
	"syscall"
	"time"
)

const (
	// strandedFor is how long a shell must wait at its prompt: one that was just
	// given a line may not have seen it yet.
	strandedFor = 400 * time.Millisecond
	// reviveWait is how long it may take to become ready.
	reviveWait = 2 * time.Second
)

// stranded reports whether the shell itself reads from the terminal, as it does
// at its prompt: then nothing runs in the foreground, and it has not said that
// the last command is over. A shell that a command has stopped goes on. Where
// the system does not tell what a process waits for, nothing is ever stranded.
func (s *session) stranded() bool {
	pid := s.pid
	for start := time.Now(); ; time.Sleep(strandedFor / 4) { //nolint:forbidigo // real time: another process is waited for
		switch whereIs(pid) {
		case stopped:
			_ = syscall.Kill(pid, syscall.SIGCONT)
			return false
		case atPrompt:
		default:
			return false
		}
		if s.foreground() != pid || s.unwritten.Load() > 0 || !s.alive() {
			return false
		}
		if time.Since(start) >= strandedFor {
			return true
		}
	}
}

// revive makes a stranded shell say that the command is over. It fails where
// that cannot be done.
func (s *session) revive(ctx context.Context, seq uint64) bool {
	if s.input(rearm+"\n") != nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, reviveWait)
	defer cancel()
	return s.waitFor(limited, seq) == nil || ctx.Err() != nil || !s.alive()
}

// whereabouts is what a shell does, as far as the system tells.
type whereabouts int

const (
	unknown  whereabouts = iota // it works, or the system does not report it
	atPrompt                    // it reads its next line from the terminal
	stopped                     // by a signal
)

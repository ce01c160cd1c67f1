//go:build unix

package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// interrupt stops the command that runs: Ctrl-C first, then less and less
// politely. It returns when the shell is ready again or dead.
func (s *session) interrupt(seq uint64) {
	for _, sig := range [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		if s.insist(sig, seq) {
			return
		}
	}
	// A loop starts the next program each time one is killed.
	s.kill()
	<-s.gone
	s.drain()
}

// lookAgain is how soon it is seen that other programs have come to the
// foreground, or that one has gone.
const lookAgain = 5 * time.Millisecond

// insist sends a signal to the processes in the foreground, and reports whether
// that ended the command. Each group of processes gets it once, as programs
// take a second Ctrl-C for impatience. But a loop of the shell has another
// group for each of its programs, and one that is about to end, or the shell
// that waits for it, makes nothing of a signal: then the next one gets it. The
// shell gets it only if it has the foreground at first: later it comes there
// because it is ready, or about to be.
func (s *session) insist(sig syscall.Signal, seq uint64) (ended bool) {
	if s.over(seq) {
		return s.waitForMarker(context.Background(), seq) == nil
	}
	late := time.NewTimer(obeyWait)
	defer late.Stop()
	told := map[int]bool{}
	for ; ; told[s.pid] = true {
		if group := s.foreground(); !told[group] {
			told[group] = true
			_ = syscall.Kill(-group, sig)
			// A process that was stopped does not see it before it goes on.
			_ = syscall.Kill(-group, syscall.SIGCONT)
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookAgain)
		err := s.waitFor(ctx, seq)
		cancel()
		if err == nil || err == errShellEnded { //nolint:errorlint // it is never wrapped
			return true
		}
		select {
		case <-late.C:
			return false
		default:
		}
	}
}

// signal sends a signal to the processes in the foreground, as the terminal
// does for Ctrl-C. That is the shell itself while it runs a loop of its own. A
// shell that has just read its command ignores a signal, and so does a process
// that does not run its program yet. One that ends just now takes the signal with it,
// and the shell of a loop knows nothing of it. The signal waits for the next program:
// until the shell has worked or slept for a while, not until the machine has given it
// the processor.
func (s *session) signal(sig syscall.Signal, seq uint64) {
	shell, sent := s.pid, false
	var progress progress
	waitUntil(signalWait, func() bool {
		group := s.foreground()
		sent = group != shell && runsProgram(group, shell) && syscall.Kill(-group, sig) == nil && !endsByItself(group)
		return sent || s.over(seq) || !s.alive() || progress.of(group) >= obeyWait
	})
	if !sent && s.alive() {
		_ = syscall.Kill(-s.foreground(), sig)
	}
}

// progress is how much time a process had for what it does: asleep, or with the
// processor, which counts twice, as the system counts it in steps of 10 ms.
type progress struct {
	pid  int
	used time.Duration // at the last look
	all  time.Duration // also of processes before
}

// of looks at a process again, lookAgain after the last time.
func (p *progress) of(pid int) time.Duration {
	used, held := activity(pid)
	if pid != p.pid {
		p.pid, p.used = pid, used
	}
	p.all += 2 * max(used-p.used, 0)
	p.used = used
	if !held {
		p.all += lookAgain
	}
	return p.all
}

// runsProgram reports whether a process runs a program of its own. Until it does, it has
// the command line of its parent. A process that has ended, and that its parent has not
// waited for, has none. The result is true if the system does not show it: it has no /proc,
// or only other processes of the group are left.
func runsProgram(group, shell int) bool {
	one, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", group))
	if err != nil {
		return true
	}
	other, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", shell))
	return err != nil || len(one) > 0 && !bytes.Equal(one, other)
}

// foreground is the process group that has the terminal.
func (s *session) foreground() int {
	group := 0
	err := control(s.master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err != nil || group <= 1 {
		return s.pid
	}
	return group
}

// signalFor is the signal that a typed character stands for; ok is false where
// it is only a character: for other ones, and when a program reads them itself.
func (s *session) signalFor(char byte) (sig syscall.Signal, ok bool) {
	modes, err := s.currentModes()
	if err != nil || modes.Lflag&unix.ISIG == 0 {
		return 0, false
	}
	for index, sig := range map[int]syscall.Signal{
		unix.VINTR: syscall.SIGINT, unix.VQUIT: syscall.SIGQUIT, unix.VSUSP: syscall.SIGTSTP,
	} {
		if modes.Cc[index] == char {
			return sig, true
		}
	}
	return 0, false
}

// close ends the shell and all that it started, as far as that can be found.
func (s *session) close() {
	s.end()
	close(s.send)
	closeAll(s.master, s.commands)
	s.wg.Wait()
	s.out.discard()
}

// end ends the shell.
func (s *session) end() {
	// The number of a dead shell can be another process's by now.
	if s.alive() {
		s.kill()
	}
	<-s.gone
}

// endNow ends the shell, and waits for what was written before.
func (s *session) endNow() {
	s.end()
	s.drain()
}

// kill ends the programs, who may clean up, and then the shell.
func (s *session) kill() {
	pid := s.pid
	_ = syscall.Kill(pid, syscall.SIGSTOP) // Otherwise the shell would run its next command when a program ends.
	if others := descendants(pid); len(others) > 0 {
		for _, p := range others {
			_ = syscall.Kill(p, syscall.SIGTERM)
			_ = syscall.Kill(p, syscall.SIGCONT)
		}
		waitUntil(hangupWait, func() bool { return len(descendants(pid)) == 0 })
	}
	killAll(func() []int { return descendants(pid) })
	_ = syscall.Kill(-s.foreground(), syscall.SIGKILL)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}

func (s *session) alive() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

// killRounds bounds how often processes are looked for: each round can find
// what the ones of the last round started before they died.
const killRounds = 20

// killAll kills until nothing is found any more.
func killAll(find func() []int) {
	for range killRounds {
		found := find()
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		waitUntil(hangupWait, func() bool {
			return !slices.ContainsFunc(processes(), func(p process) bool { return slices.Contains(found, p.pid) })
		})
	}
}

// waitUntil polls done until limit, because the system does not report the death of a
// process that is not a child.
func waitUntil(limit time.Duration, done func() bool) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late.C:
			return
		}
	}
}

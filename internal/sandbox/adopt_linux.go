package sandbox

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of what the agents' programs leave behind,
// and gives what ends that: leave ends the programs of that state that this
// process has started, and what they started, whatever they did to their sessions
// and their environment. With all it ends every process below this one, which is
// for a process that starts no programs but the agents'.
//
// A process that was adopted and has ended is reaped after a while: no other code waits for it.
func Adopt(state string, all bool) (leave func() error) {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		all = false // before Linux 3.4; the marks remain
	}
	stop := make(chan struct{})
	var reaping sync.WaitGroup
	reaping.Go(func() { reap(stop) })
	return sync.OnceValue(func() error {
		close(stop)
		reaping.Wait()
		endOwn(state, all)
		return nil
	})
}

// endOwn ends the programs that this process has started for a state.
func endOwn(state string, all bool) {
	self, ok := ourselves()
	if !ok {
		return
	}
	prefix := self.prefix(state)
	killAll(func() []target {
		roots := marked(prefix, func(string, process) bool { return true })
		var found []target
		for _, p := range below(func(p process) bool {
			return all && p.parent == self.pid || slices.ContainsFunc(roots, func(t target) bool { return t.pid == p.pid })
		}) {
			if !shared(p.pid) {
				found = append(found, target{p.pid, func() bool { now, ok := readProcess(p.pid); return ok && now.start == p.start && now.state != 'Z' }})
			}
		}
		return found
	})
	collect(func(process) bool { return all })
}

// EndBelow ends all processes below this one, and gives their number. It is for a
// process that has asked to be the parent of orphans, and starts nothing meanwhile.
func EndBelow() int {
	return killAll(func() (found []target) {
		for _, p := range below(func(p process) bool { return p.parent == os.Getpid() }) {
			found = append(found, target{p.pid, func() bool { now, ok := readProcess(p.pid); return ok && now.start == p.start && now.state != 'Z' }})
		}
		return found
	})
}

// below finds the processes that live for which root is true, and those below them.
func below(root func(process) bool) []process {
	var rest, found []process
	in := map[int]bool{}
	for _, pid := range numbers() {
		if p, ok := readProcess(pid); ok && p.state != 'Z' && pid != os.Getpid() {
			rest = append(rest, p)
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range rest {
			if !in[p.pid] && (in[p.parent] || root(p)) {
				in[p.pid], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// shared reports whether a process is the message bus of the session, which the
// look-up of a key can start and which is then everybody's.
func shared(pid int) bool {
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	name := filepath.Base(program)
	return err == nil && (name == "dbus-daemon" || name == "dbus-broker")
}

// reapAfter is how long a child must have been dead before it counts as one that
// no code waits for: code that has started a program waits for it at once.
const reapAfter = 10 * time.Second

// reap asks for adopted children that have ended, until stop is closed.
func reap(stop <-chan struct{}) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	timer := time.NewTimer(reapAfter) // what ended before
	defer timer.Stop()
	seen := map[process]bool{}
	for waiting := true; ; {
		select {
		case <-stop:
			return
		case <-ended:
			if !waiting {
				timer.Reset(reapAfter)
				waiting = true
			}
		case <-timer.C:
			was := seen
			seen = map[process]bool{}
			collect(func(p process) bool {
				seen[p] = !was[p]
				return was[p]
			})
			waiting = slices.Contains(values(seen), true)
			if waiting {
				timer.Reset(reapAfter)
			}
		}
	}
}

func values(m map[process]bool) (all []bool) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// collect asks for the children that have ended and that are chosen.
func collect(choose func(process) bool) {
	for _, pid := range numbers() {
		p, ok := readProcess(pid)
		if ok && p.state == 'Z' && p.parent == os.Getpid() && choose(p) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it is dead
		}
	}
}

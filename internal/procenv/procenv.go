// Package procenv lists processes, and reads what the system tells of them and the
// variables that they were started with. On systems without /proc there are none.
package procenv

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// execTime bounds how long a process may take to become another program, and again is
// how often it is looked at meanwhile.
const (
	execTime = 2 * time.Second
	again    = time.Millisecond
	most     = 16 << 20 // bytes of variables that are read; Linux allows 6 MiB
)

// All gives the processes whose variables this process may read, in no order, each with
// its variables: NAME=VALUE, each with a NUL after it, valid until the next one. Whoever
// wants to find all processes with a variable must miss neither of these:
//   - a process that was begun meanwhile, by one that has ended since;
//   - a process that is about to become another program (execve(2)): for a moment the
//     system shows no variables of it. It comes when it has them.
func All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		seen := map[int]bool{}
		among(func() (begun []int) {
			for _, pid := range Numbers() {
				if !seen[pid] {
					seen[pid] = true
					begun = append(begun, pid)
				}
			}
			return begun
		}, yield)
	}
}

// Of gives the variables of one process; nil if there are none or it has ended.
func Of(pid int) (environ []byte) {
	list := []int{pid}
	among(func() (once []int) {
		once, list = list, nil
		return once
	}, func(_ int, found []byte) bool {
		environ = found
		return false
	})
	return environ
}

// among looks at processes until next has no more, and none is about to become another
// program.
func among(next func() []int, yield func(int, []byte) bool) {
	var buf []byte
	late := time.Now().Add(execTime) //nolint:forbidigo // real time: other processes are waited for

	for left := next(); len(left) > 0 && time.Now().Before(late); left = append(left, next()...) { //nolint:forbidigo // see above
		var changing []int
		for _, pid := range left {
			var environ []byte
			var err error
			environ, buf, err = read(pid, buf)
			switch {
			case err != nil: // it has ended, or is somebody else's
			case len(environ) > 0:
				if !yield(pid, environ) {
					return
				}
			case isChanging(pid):
				changing = append(changing, pid)
			}
		}
		if left = changing; len(left) > 0 {
			time.Sleep(again)
		}
	}
}

// read reads the variables of a process into buf, which it gives back for the next one.
// It reads all of them at once: between two reads, a process that becomes another
// program loses the rest.
func read(pid int, buf []byte) (environ, grown []byte, err error) {
	if len(buf) == 0 {
		buf = make([]byte, 64<<10)
	}
	for {
		f, err := os.Open(file(pid, "environ"))
		if err != nil {
			return nil, buf, err
		}
		n, err := f.Read(buf)
		_ = f.Close() // it was only read
		switch {
		case errors.Is(err, io.EOF):
			return nil, buf, nil
		case err != nil || n < len(buf) || n >= most:
			return buf[:n], buf, err
		}
		buf = make([]byte, 4*len(buf))
	}
}

// Find gives of some variables the first that begins with a prefix; "" if none does.
func Find(environ []byte, prefix string) string {
	if !bytes.Contains(environ, []byte(prefix)) { // most have no such variable
		return ""
	}
	for entry := range strings.SplitSeq(string(environ), "\x00") {
		if strings.HasPrefix(entry, prefix) {
			return entry
		}
	}
	return ""
}

// Numbers are those of all processes.
func Numbers() (all []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Stat gives what the system tells of a process (proc_pid_stat(5)): the fields after the
// name of the program, which can hold anything. The first is field 3, the state. It gives
// nil if the process has ended.
func Stat(pid int) []string {
	stat, err := os.ReadFile(file(pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// Fields of [Stat].
const (
	memory    = 23 - 3 // in bytes; none: it is the system's own, or has ended
	startCode = 26 - 3 // zero until the program and its variables are there
	envStart  = 50 - 3
	envEnd    = 51 - 3
)

// isChanging reports whether a process that seems to have no variables was about to
// become another program.
func isChanging(pid int) bool {
	fields := Stat(pid)
	if len(fields) <= envEnd || fields[memory] == "0" {
		return false
	}
	return fields[startCode] == "0" || fields[envEnd] != fields[envStart]
}

func file(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// Package attempt makes one attempt to break out of a sandbox. It is what a copy of ohgw
// does inside for package escape, which judges the attempts. For package probe it also
// does what a program of a sandbox may do: it starts a server and connects to it.
//
// It does not import net: internal/sandbox/helperinit makes the attempt before the rest of
// the program is initialised.
package attempt

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Name is the name under which ohgw makes an attempt.
const Name = "ohgw-escape"

// The exit codes of an attempt. Other ones say that it was not made.
const (
	Succeeded = 40
	Refused   = 41
)

// Wanted reports whether this process is to make an attempt. Whoever runs that by
// hand can do no more than before: the program has no rights of its own.
func Wanted(args []string) bool { return len(args) > 1 && args[1] == Name }

// Main makes one attempt and returns its exit code.
func Main(args []string) int {
	args = args[2:]
	if len(args) == 0 {
		return 2
	}
	a, ok := attempts[args[0]]
	if !ok || len(args) != a.args+1 {
		return 2
	}
	if a.try(args[1:]) == nil {
		return Succeeded
	}
	return Refused
}

// attempts succeed without an error.
var attempts = map[string]struct {
	args int
	try  func(args []string) error
}{
	"read":      {1, func(args []string) error { _, err := os.ReadFile(args[0]); return err }},
	"write":     {1, func(args []string) error { return os.WriteFile(args[0], []byte("escaped\n"), 0o600) }},
	"connect":   {2, func(args []string) error { return connect(args[0], args[1]) }},
	"unshare":   {0, func([]string) error { return unshare() }},
	"signal":    {1, func(args []string) error { return signalProcess(args[0]) }},
	"commondir": {1, func(args []string) error { return plant(args[0]) }},
	"serve":     {0, func([]string) error { return serve() }},
}

// plantWait is how long a planted file may stay. The watch takes microseconds, and
// longer on a machine that is very busy.
const plantWait = 20 * time.Second

// errRemoved says that the planted file was taken away.
var errRemoved = errors.New("it was removed")

// plant makes a file and waits until another process removes it.
func plant(path string) error {
	if err := os.WriteFile(path, []byte("../evil\n"), 0o600); err != nil {
		return err
	}
	end := time.NewTimer(plantWait)
	defer end.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return nil
		case <-tick.C:
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return errRemoved
		}
	}
}

func signalProcess(pid string) error {
	number, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return sendSignal(number)
}

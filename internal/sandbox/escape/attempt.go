package escape

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"
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
		return succeeded
	}
	return refused
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
}

func connect(network, address string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second) //nolint:gosec,noctx // to a canary
	if err != nil {
		return err
	}
	return conn.Close()
}

// plantWait is how long a planted file may stay. The watch takes microseconds, and
// longer on a machine that is very busy.
const plantWait = 20 * time.Second

// errRemoved says that the planted file was taken away.
var errRemoved = errors.New("it was removed")

// plant makes a file and waits until somebody takes it away.
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

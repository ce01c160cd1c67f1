// Package systemd is what a program that systemd starts has to say to it, and
// gets from it: readiness, sockets that are open already, the journal.
//
// It needs no library: the protocols are variables and one datagram
// (sd_notify(3), sd_listen_fds(3), systemd.exec(5)). Without systemd every
// function does nothing.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// States for [Notify].
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Notify sends the service manager a state, if it asked for that.
func Notify(getenv func(string) string, states ...string) error {
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if strings.HasPrefix(path, "@") { // a name that is not a file
		path = "\x00" + path[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	_, err = conn.Write([]byte(strings.Join(states, "\n")))
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// ErrSockets says that the service manager passed sockets that cannot be used.
var ErrSockets = errors.New("not one stream socket")

// firstSocket is the number of the first descriptor that is passed.
const firstSocket = 3

// Listener takes over the socket that the service manager has opened for the process
// pid; nil when there is none. More than one is ErrSockets.
func Listener(getenv func(string) string, pid int) (net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil
	}
	if n, err := strconv.Atoi(getenv("LISTEN_FDS")); err != nil || n != 1 {
		return nil, fmt.Errorf("take over %q sockets: %w", getenv("LISTEN_FDS"), ErrSockets)
	}
	file := os.NewFile(firstSocket, "socket of the service manager")
	ln, err := net.FileListener(file)
	// The listener has a descriptor of its own, which no child inherits.
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("use the passed socket: %w: %w", ErrSockets, err)
	}
	return ln, nil
}

// Clean is an environment without what is for this process alone.
func Clean(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID", "WATCHDOG_PID", "WATCHDOG_USEC":
			return true
		}
		return false
	})
}

//go:build !windows

package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// notifysocket
//
// Opens a socket for what a service tells, and sets NOTIFY_SOCKET.
func cmdNotifySocket(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := os.MkdirTemp("", "n") // a socket's path is short
	ts.Check(err)
	path := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close(); _ = os.RemoveAll(dir) })
	ts.Setenv("NOTIFY_SOCKET", path)
	scriptState(ts).notify = conn
}

// notified LINE
//
// Waits until a service has told that.
func cmdNotified(ts *testscript.TestScript, _ bool, args []string) {
	s := scriptState(ts)
	deadline := time.Now().Add(patience)
	for want := strings.Join(args, ""); ; {
		for _, line := range s.told {
			if line == want {
				return
			}
		}
		buf := make([]byte, 4096)
		ts.Check(s.notify.SetReadDeadline(deadline))
		n, err := s.notify.Read(buf)
		if err != nil {
			ts.Fatalf("nobody told %q, but %q: %v", want, s.told, err)
		}
		s.told = append(s.told, strings.Split(string(buf[:n]), "\n")...)
	}
}

// freeport
//
// Sets PORT to a port on which no process listens.
func cmdFreePort(ts *testscript.TestScript, _ bool, _ []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(ln.Addr().String())
	ts.Check(err)
	ts.Check(ln.Close())
	ts.Setenv("PORT", port)
}

// listening HOST:PORT
//
// Waits until a process listens there.
func cmdListening(ts *testscript.TestScript, _ bool, args []string) {
	waittest.Until(ts, patience, "a process listens at "+args[0], func() (any, bool) {
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return err, false
		}
		ts.Check(conn.Close())
		return nil, true
	})
}

//go:build unix

package cli_test

import (
	"fmt"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// refusing
//
// Sets REFUSING to an address of this machine that refuses connections. No other program
// gets its port before the script ends: it is bound, and no process listens.
func cmdRefusing(ts *testscript.TestScript, _ bool, _ []string) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	ts.Check(err)
	ts.Defer(func() { _ = syscall.Close(fd) })
	syscall.CloseOnExec(fd)
	ts.Check(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	ts.Check(err)
	at, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		ts.Fatalf("bound to %v", name)
	}
	ts.Setenv("REFUSING", fmt.Sprintf("127.0.0.1:%d", at.Port))
}

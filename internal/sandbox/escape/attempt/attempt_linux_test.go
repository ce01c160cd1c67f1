package attempt_test

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/escape/attempt"
)

// TestOutsideOfASandboxAttemptsSucceed holds that a refusal is one of the sandbox.
func TestOutsideOfASandboxAttemptsSucceed(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	unix, err := net.Listen("unix", "@ohgw-"+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"read", file},
		{"write", file},
		{"connect", "tcp", tcp.Addr().String()},
		{"connect", "unix", unix.Addr().String()},
		{"serve"},
	} {
		if got := run(args...); got != attempt.Succeeded {
			t.Errorf("%s: exit code %d", strings.Join(args, " "), got)
		}
	}
	_ = tcp.Close()
	_ = unix.Close()
	for _, args := range [][]string{
		{"read", file + ".none"},
		{"connect", "tcp", tcp.Addr().String()},
		{"connect", "unix", unix.Addr().String()},
	} {
		if got := run(args...); got != attempt.Refused {
			t.Errorf("%s: exit code %d", strings.Join(args, " "), got)
		}
	}
}

// run makes one attempt in this process.
func run(args ...string) int { return attempt.Main(append([]string{"ohgw", attempt.Name}, args...)) }

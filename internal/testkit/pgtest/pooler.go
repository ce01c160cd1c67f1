package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// poolerPort is in the name of the socket. No port is open.
const poolerPort = "6432"

// Pooler starts a PgBouncer in transaction mode in front of the server, and returns the URL of a
// database through it. It ends with the test. Without PgBouncer the test is skipped; with
// CI=true that is a failure.
func (s *Server) Pooler(tb testing.TB, database string) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		const message = "there is no PgBouncer on this machine: apt-get install pgbouncer"
		if os.Getenv("CI") == "true" {
			tb.Fatal(message)
		}
		tb.Skip(message)
	}
	dir, err := os.MkdirTemp("", "pgb") // its path is that of a socket, which is short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := fmt.Sprintf("[databases]\n* = host=%s user=ohgw\n[pgbouncer]\nlisten_port = %s\nunix_socket_dir = %s\nauth_type = any\npool_mode = transaction\n"+
		"ignore_startup_parameters = extra_float_digits\nlogfile = %s\ndefault_pool_size = 20\nmax_client_conn = 200\n",
		s.dir, poolerPort, dir, filepath.Join(dir, "log"))
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := errors.Join(os.WriteFile(file, []byte(settings), 0o644), os.Chmod(dir, 0o777)); err != nil {
		tb.Fatal(err)
	}
	line := slices.Concat(s.as, []string{program, "-q", file})
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), line[0], line[1:]...)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	waittest.Until(tb, waittest.Patience, "PgBouncer listens", func() (any, bool) {
		c, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL."+poolerPort))
		if err == nil {
			_ = c.Close()
		}
		return err, err == nil
	})
	q := url.Values{"host": {dir}, "port": {poolerPort}, "user": {"ohgw"}}
	return "postgres:///" + database + "?" + q.Encode()
}

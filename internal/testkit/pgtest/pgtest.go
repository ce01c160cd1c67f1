// Package pgtest runs a Postgres for tests: that of this machine, in a directory of its own,
// without a port, and as an ordinary user also where the tests run as root.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a Postgres. One is enough for the tests of a package: see Database.
type Server struct {
	dir, bin string
	as       []string // starts a program as the server's user
	made     atomic.Int64
}

const patience = time.Minute

// ErrMissing is the error of New on a machine without Postgres.
var ErrMissing = errors.New("there is no Postgres on this machine: apt-get install postgresql")

// Main runs the tests of a package with a server. Without Postgres the server is nil, and tests
// that need it are skipped; with CI=true that is a failure.
func Main(m *testing.M, use func(*Server)) int {
	s, err := New()
	if err != nil && (!errors.Is(err, ErrMissing) || os.Getenv("CI") == "true") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err == nil {
		defer s.Stop()
	}
	use(s)
	return m.Run()
}

// binaries returns the directory of the newest Postgres of this machine.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	return filepath.Dir(path), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

// New starts a server. Stop ends it.
func New() (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // its path is that of a socket, which is short
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	err = s.lower()
	if err == nil {
		err = s.run("initdb", "-D", s.data(), "-A", "trust", "-U", "ohgw", "-N", "--no-locale", "-E", "UTF8")
	}
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// lower chooses another user where this one is root, whom Postgres refuses.
func (s *Server) lower() error {
	if os.Getuid() != 0 {
		return nil
	}
	other, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, uidErr := strconv.Atoi(other.Uid)
	gid, gidErr := strconv.Atoi(other.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	s.as = []string{"setpriv", "--reuid", other.Uid, "--regid", other.Gid, "--clear-groups", "--"}
	return os.Chown(s.dir, uid, gid)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	line := slices.Concat(s.as, []string{filepath.Join(s.bin, program)}, args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := os.Create(filepath.Join(s.dir, program+".log")) // the server would hold a pipe open
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = errors.Join(cmd.Run(), out.Close())
	if err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", program, err, said)
	}
	return nil
}

// Start starts the server again after Crash. Its writes do not wait for a real disk: a crash of
// the server, not of the machine, loses the same commits with and without that.
func (s *Server) Start() error {
	options := "-k " + s.dir + " -c listen_addresses='' -c max_connections=200 -c shared_buffers=16MB -c full_page_writes=off -c fsync=off"
	return s.run("pg_ctl", "-D", s.data(), "-w", "-l", filepath.Join(s.dir, "server.log"), "-o", options, "start")
}

// Crash ends the server as a loss of its machine would: nothing is flushed.
func (s *Server) Crash() error {
	return s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
}

// Stop ends the server and removes what it has stored.
func (s *Server) Stop() {
	if err := errors.Join(s.Crash(), os.RemoveAll(s.dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// URL is that of a database, for a role.
func (s *Server) URL(database, role string) string {
	q := url.Values{"host": {s.dir}, "user": {role}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Database makes an empty database for a test, and returns its URL. Without a server it skips
// the test.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	if s == nil {
		tb.Skip(ErrMissing)
	}
	name := fmt.Sprintf("test%d", s.made.Add(1))
	s.Exec(tb, "postgres", "CREATE DATABASE "+name)
	return s.URL(name, "ohgw")
}

// Exec runs statements in a database as the owner of all.
func (s *Server) Exec(tb testing.TB, database, sql string) {
	tb.Helper()
	s.Query(tb, s.URL(database, "ohgw"), sql)
}

// Query runs statements in the database of a URL, and returns their rows as text; NULL is empty.
func (s *Server) Query(tb testing.TB, target, sql string) (rows [][]string) {
	tb.Helper()
	rows, err := query(target, sql)
	if err != nil {
		tb.Fatalf("statement %s: %v", sql, err)
	}
	return rows
}

func query(target, sql string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgconn.Connect(ctx, target)
	if err != nil {
		return nil, err
	}
	results, err := c.Exec(ctx, sql).ReadAll()
	for _, r := range results {
		for _, values := range r.Rows {
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = string(v)
			}
			rows = append(rows, row)
		}
	}
	return rows, errors.Join(err, c.Close(ctx))
}

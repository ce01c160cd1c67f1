package cli_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ohgw/ohgw/internal/testkit/pgtest"
)

// postgres is the Postgres of all scripts, which the first one starts that wants it.
var postgres lazyPostgres

type lazyPostgres struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func (p *lazyPostgres) start() (*pgtest.Server, error) {
	p.once.Do(func() { p.server, p.err = pgtest.New() })
	return p.server, p.err
}

// stop ends it. No script runs any more.
func (p *lazyPostgres) stop() {
	if p.server != nil {
		p.server.Stop()
	}
}

// condition knows [postgres]: there is one on this machine, or this is CI, where there
// must be one.
func condition(name string) (bool, error) {
	if name != "postgres" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	_, err := postgres.start()
	return !errors.Is(err, pgtest.ErrMissing) || os.Getenv("CI") == "true", nil
}

// database [ROLE]
//
// Makes an empty database and sets DATABASE to its URL, for the role that owns it
// or for another one, which is made.
func cmdDatabase(ts *testscript.TestScript, _ bool, args []string) {
	s, err := postgres.start()
	ts.Check(err)
	test := scriptState(ts).test
	ts.Setenv("DATABASE", s.Database(test))
	for _, role := range args {
		s.Exec(test, "postgres", "DO $$ BEGIN CREATE ROLE "+role+" LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
	}
}

// sql STATEMENT
//
// Runs a statement in the database of the script, as its owner.
func cmdSQL(ts *testscript.TestScript, _ bool, args []string) {
	s, err := postgres.start()
	ts.Check(err)
	u, err := url.Parse(ts.Getenv("DATABASE"))
	ts.Check(err)
	s.Exec(scriptState(ts).test, strings.TrimPrefix(u.Path, "/"), args[0])
}

// becomes STATUS METHOD URL [HEADER:VALUE]...
//
// Sends a request until the answer has that status.
func cmdBecomes(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequest(args[1], args[2], http.NoBody)
		ts.Check(err)
		for _, h := range args[3:] {
			name, value, _ := strings.Cut(h, ":")
			req.Header.Set(name, value)
		}
		client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		ts.Check(err)
		ts.Check(resp.Body.Close())
		if strconv.Itoa(resp.StatusCode) == args[0] {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the status is still %d", resp.StatusCode)
		}
	}
}

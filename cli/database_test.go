package cli_test

import (
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ohgw/ohgw/internal/testkit/pgtest"
)

// postgres is the Postgres of all scripts, which the first one that needs it starts.
type postgres struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func (p *postgres) start() (*pgtest.Server, error) {
	p.once.Do(func() { p.server, p.err = pgtest.New() })
	return p.server, p.err
}

// stop ends it. No script runs any more.
func (p *postgres) stop() {
	if p.server != nil {
		p.server.Stop()
	}
}

// isThere reports whether this machine has a Postgres. In CI it is there: a script that needs it
// fails without it.
func (p *postgres) isThere() bool {
	_, err := p.start()
	return !errors.Is(err, pgtest.ErrMissing) || os.Getenv("CI") == "true"
}

// database [ROLE]
//
// Makes an empty database and sets DATABASE to its URL, for the role that owns it. Another role
// is made, which has no rights in it.
func (p *postgres) database(ts *testscript.TestScript, _ bool, args []string) {
	s, err := p.start()
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
func (p *postgres) sql(ts *testscript.TestScript, _ bool, args []string) {
	s, err := p.start()
	ts.Check(err)
	u, err := url.Parse(ts.Getenv("DATABASE"))
	ts.Check(err)
	s.Exec(scriptState(ts).test, strings.TrimPrefix(u.Path, "/"), args[0])
}

// Package database opens the database that several gateways share, and has the words about what
// can be wrong with it.
package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/setup"
)

// Open opens the database that the settings name. It does not connect yet.
func Open(env *setup.Env, s *config.Settings) (*pg.DB, error) {
	if !s.State.Shared() {
		return nil, fault.NewUsage("no shared database is set", "name a database: --state postgres://user@host/name, or OHGW_STATE")
	}
	target, err := address(env, s)
	if err != nil {
		return nil, err
	}
	db, err := pg.Open(target, env.Now)
	if err != nil {
		return nil, fault.NewUsage("the URL of the database is not valid ("+s.StateOrigin().String()+")", "use a URL such as postgres://user@host/name")
	}
	if s.State.Session != "" {
		db.Pooled()
	}
	return db, nil
}

// OpenSession opens the database itself for the session of a gateway, if the settings name one
// beside a pooler. It is nil if they name none. It does not connect yet.
func OpenSession(env *setup.Env, s *config.Settings) (*pg.DB, error) {
	if s.State.Session == "" || s.State.Session == config.NoSession {
		return nil, nil // the session goes where the runs are, or there is none
	}
	o := s.Origin("state_session")
	target := s.State.Session
	if o.Kind == config.FromEnv { // the setting has no password
		target = env.Getenv(o.Name)
	}
	db, err := pg.Open(target, env.Now)
	if err != nil {
		return nil, fault.NewUsage("the URL of the session's database is not valid ("+o.String()+")", "use a URL such as postgres://user@host/name, or off")
	}
	return db, nil
}

// CheckSession verifies that a gateway has a session where it needs one. session is of
// [OpenSession].
func CheckSession(ctx context.Context, s *config.Settings, db, session *pg.DB) error {
	if s.State.Session == config.NoSession {
		return nil
	}
	if session == nil {
		session = db
	}
	return Fault(session, session.CheckSession(ctx))
}

// address returns the URL of the database, with its password if it has one.
func address(env *setup.Env, s *config.Settings) (string, error) {
	o := s.StateOrigin()
	if s.State.URL != "" {
		if o.Kind == config.FromEnv { // the setting has no password
			return env.Getenv(o.Name), nil
		}
		return s.State.URL, nil
	}
	target, err := keyfile.Read(s.State.File)
	if err != nil {
		return "", &fault.Error{
			Msg:  "the file with the URL of the database cannot be used (" + o.String() + ")",
			Hint: "the file must contain one URL and be private: chmod 600 " + shellword.Of(s.State.File),
			Code: fault.Credential, Err: err,
		}
	}
	return target, nil
}

// Fault returns an error of the database for people, with what they can do about it.
func Fault(db *pg.DB, err error) error {
	if err == nil {
		return nil
	}
	code, hint := remedy(err)
	return &fault.Error{Msg: fmt.Sprintf("the shared database %s cannot be used", db.Address()), Hint: hint, Code: code, Err: err}
}

// remedy finds the exit code of an error of the database, and its hint.
func remedy(err error) (fault.Code, string) {
	for _, r := range []struct {
		err  error
		code fault.Code
		hint string
	}{
		{pg.ErrSchema, fault.Failed, "create or upgrade the tables: ohgw state migrate"},
		{pg.ErrNewer, fault.Failed, "upgrade ohgw to the version that migrated the database"},
		{pg.ErrLogin, fault.Credential, "check the user and the password: set PGPASSFILE or PGPASSWORD, or put the URL into the file that state_file names"},
		{pg.ErrRights, fault.Credential, "as the owner of the database: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO role; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO role"},
		{pg.ErrFunction, fault.Credential, "as a superuser, with the function that the cause names: GRANT EXECUTE ON FUNCTION pg_logical_emit_message(…) TO role"},
		{pg.ErrReadOnly, fault.Failed, "name the primary server, not a standby, with --state or OHGW_STATE"},
		{pg.ErrFull, fault.Failed, "make room on the disk of the database"},
		{pg.ErrIsolation, fault.Failed, "as the owner of the database: ALTER ROLE role SET default_transaction_isolation = 'read committed'"},
		{pg.ErrPooler, fault.Failed, "name the database itself: OHGW_STATE_SESSION=postgres://user@host/name; or have gateways live without a session: OHGW_STATE_SESSION=off"},
		{pg.ErrOtherDatabase, fault.Failed, "name the same database in state_session and in state"},
		{pg.ErrClock, fault.Failed, "set both clocks by the network: timedatectl set-ntp true"},
		{pg.ErrUnavailable, fault.Unreachable, "start the database, or correct its address in --state, OHGW_STATE or the file that state_file names"},
	} {
		if errors.Is(err, r.err) {
			return r.code, r.hint
		}
	}
	return fault.Failed, "ohgw state check shows whether the database can be used"
}

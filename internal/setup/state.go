package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/token"
)

// TokensDocument is the name of the document with the tokens in a shared state.
const TokensDocument = "tokens"

// Database opens the database of a shared state, which the settings must name. It
// connects to nothing yet.
func (env *Env) Database(s *config.Settings) (*pg.DB, error) {
	target, from, err := env.stateURL(s)
	if err != nil {
		return nil, err
	}
	db, err := pg.Open(target)
	if err == nil && s.State.Session != "" {
		db.Pooled()
	}
	if err != nil {
		return nil, fault.NewUsage("the URL of the database is not valid ("+from+")", "use a URL such as postgres://user@host/name")
	}
	return db, nil
}

// SessionDatabase is where the session of a gateway goes: nil for the database itself;
// leaseOnly is for no session.
func (env *Env) SessionDatabase(s *config.Settings) (direct *pg.DB, leaseOnly bool, err error) {
	target := s.State.Session
	if target == "" || target == config.SessionOff {
		return nil, target == config.SessionOff, nil
	}
	if o := s.Origin("state_session"); o.Kind == config.FromEnv {
		target = env.Getenv(o.Name) // with the password in it, if there is one
	}
	direct, err = pg.Open(target)
	if err != nil {
		return nil, false, fault.NewUsage("the URL of the session is not valid ("+s.Origin("state_session").String()+")", "use a URL such as postgres://user@host/name, or off")
	}
	return direct, false, nil
}

// stateURL is the URL of the database, and which setting it is from.
func (env *Env) stateURL(s *config.Settings) (target, from string, err error) {
	o := s.StateOrigin()
	if s.State.URL != "" {
		if o.Kind == config.FromEnv {
			return env.Getenv(o.Name), o.String(), nil // with the password in it, if there is one
		}
		return s.State.URL, o.String(), nil
	}
	from = o.String()
	target, err = keyfile.Read(s.State.File)
	if err != nil {
		return "", from, &fault.Error{
			Msg:  "the file with the URL of the database cannot be used (" + from + ")",
			Hint: "the file must contain one URL and be private: chmod 600 " + fault.Word(s.State.File),
			Code: fault.Credential, Err: err,
		}
	}
	return target, from, nil
}

// stateTokens is the document of the tokens in the shared state; nil where the state
// directory keeps them.
func (env *Env) stateTokens(s *config.Settings) (token.Shelf, error) {
	if !s.State.Shared() {
		return nil, nil //nolint:nilnil // There is none, and that is fine.
	}
	db, err := env.Database(s)
	if err != nil {
		return nil, err
	}
	return stateShelf{db, db.Document(TokensDocument)}, nil
}

// Spending opens what tokens have spent: in the shared state, or in the state directory.
func (env *Env) Spending(s *config.Settings) (*budget.Ledger, error) {
	if s.State.Shared() {
		db, err := env.Database(s)
		if err != nil {
			return nil, err
		}
		return budget.NewShared(db.Book(), env.Now), nil
	}
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	return budget.NewLedger(filepath.Join(dirs.State, budget.Dir), env.Now), nil
}

// stateShelf is a document whose errors are for people.
type stateShelf struct {
	db  *pg.DB
	doc *pg.Document
}

func (s stateShelf) Read() (data []byte, revision int64, err error) {
	data, revision, err = s.doc.Read()
	return data, revision, StateFault(s.db, err)
}

// Renew does nothing: Read asks each time.
func (stateShelf) Renew() error { return nil }

func (s stateShelf) Change(ctx context.Context, edit func(data []byte) ([]byte, error)) error {
	var refused error
	err := s.doc.Change(ctx, func(data []byte) ([]byte, error) {
		changed, err := edit(data)
		refused = err
		return changed, err
	})
	if refused != nil {
		return refused
	}
	return StateFault(s.db, err)
}

// stateFaults are what a person does about an error of the database.
var stateFaults = []struct {
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
	{pg.ErrClock, fault.Failed, "set both clocks by the network: timedatectl set-ntp true"},
	{pg.ErrUnavailable, fault.Unreachable, "start the database, or correct its address in --state, OHGW_STATE or the file that state_file names"},
}

// StateFault is an error of the shared state as a person should read it.
func StateFault(db *pg.DB, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	for _, k := range stateFaults {
		if errors.Is(err, k.err) {
			return &fault.Error{Msg: fmt.Sprintf("the shared state %s cannot be used", db.Address()), Hint: k.hint, Code: k.code, Err: err}
		}
	}
	return fault.New(fmt.Sprintf("the shared state %s cannot be used", db.Address()), "check it: ohgw state check", err)
}

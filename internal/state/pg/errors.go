package pg

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Why a database cannot be used. Each of them is a ledger.ErrAway.
var (
	// ErrUnavailable: what was asked may have been done.
	ErrUnavailable = error(away("the database does not answer"))
	// ErrReadOnly: the database is a standby, as one may be after a failover.
	ErrReadOnly = error(away("the database accepts no writes"))
	// ErrFull: its disk is full.
	ErrFull = error(away("the database has no space left"))
	// ErrLogin: the role or its password is wrong.
	ErrLogin = error(away("the database refuses the login"))
	// ErrRights: the role may not do that.
	ErrRights = error(away("the role has too few rights in the database"))
	// ErrFunction: the role may not call a function that every role may by default.
	ErrFunction = error(away("the role lacks a right that roles have by default"))
	// ErrSchema: there are no tables of this version.
	ErrSchema = error(away("the database has no tables of this ohgw"))
	// ErrNewer: a newer ohgw has changed the tables.
	ErrNewer = error(away("the database belongs to a newer ohgw"))
	// ErrIsolation: its transactions do not see what others have committed meanwhile.
	ErrIsolation = error(away("transactions of the database are not READ COMMITTED"))
	// ErrClock: its clock and this machine's differ by more than a minute.
	ErrClock = error(away("the clock of the database differs from this machine's"))
)

// away is a kind of error after which it is unknown what the database has.
type away string

func (e away) Error() string { return string(e) }

// Is makes each of them a ledger.ErrAway.
func (e away) Is(target error) bool { return target == ledger.ErrAway }

// explain returns an error of the database with its kind. Of a connection that failed it keeps
// the reason, without the settings that it was made with.
func explain(err error) error {
	if err == nil {
		return nil
	}
	e, answered := errors.AsType[*pgconn.PgError](err)
	if !answered {
		return fmt.Errorf("%w: %w", ErrUnavailable, cause(err))
	}
	said := &stateError{e.Code, e.Message}
	for _, k := range kinds() {
		if strings.HasPrefix(e.Code, k.code) {
			return fmt.Errorf("%w: %w", k.err, said)
		}
	}
	return said
}

// kind is an error by its SQLSTATE, or the beginning of one.
type kind struct {
	code string
	err  error
}

func kinds() []kind {
	return []kind{
		{"28", ErrLogin},
		{"42501", ErrRights},
		{"42P01", ErrSchema},
		{"42703", ErrSchema},
		{"3F000", ErrSchema},
		{"25006", ErrReadOnly},
		{"25P03", ErrUnavailable}, // it was idle in a transaction
		{"53100", ErrFull},
		{"08", ErrUnavailable},
		{"53", ErrUnavailable},
		{"57", ErrUnavailable},
	}
}

// cause returns why a connection failed, without its settings.
func cause(err error) error {
	e, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return err
	}
	inner := errors.Unwrap(e)
	var said []string // once each: with and without TLS are two attempts
	for line := range strings.Lines(inner.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return &connectError{strings.Join(said, "; "), inner}
}

// connectError is a connection that failed, in one line.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.err }

// stateError is an answer of the database, with its code.
type stateError struct{ code, message string }

// Is makes it a ledger.ErrAway.
func (e *stateError) Is(target error) bool { return target == ledger.ErrAway }

func (e *stateError) Error() string { return e.message + " (SQLSTATE " + e.code + ")" }

// isInTheWay reports whether another transaction was faster: a row would be there twice, each
// of them waited for the other, or this one waited for longer than it may.
func isInTheWay(err error) bool {
	e, ok := errors.AsType[*stateError](err)
	return ok && (e.code == "23505" || e.code == "40P01" || e.code == "55P03")
}

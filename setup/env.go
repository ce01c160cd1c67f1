// Package setup assembles what the commands work with: settings, key stores,
// tokens and profiles, and, in the packages below it, backends, gateways and
// clients.
//
// It takes an [Env] and settings, and prints nothing: what a person should know
// goes to the [Notes] of the Env, or is a returned value. The daemon, the chat
// and the backends do not know it; here they meet.
package setup

import (
	"context"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
)

// Env is what is assembled from. Files are read and written at the paths that
// it and the settings name.
type Env struct {
	Notes

	Getenv       func(string) string
	Environ      func() []string // for the processes of agents
	Now          func() time.Time
	Paths        func() (paths.Set, error)
	HTTP         *http.Client
	Hostname     func() (string, error)
	PID          int                                  // of this process
	LookPath     func(program string) (string, error) // where a program is
	Root         bool                                 // this is the user who may do everything
	EffectiveUID int                                  // whose rights this process has; -1 where the system has no user IDs
	Getwd        func() (string, error)               // the working directory
	// Executable is the file of this program. It may be nil.
	Executable func() (string, error)

	// Usual returns where another program of this machine is reached whose address
	// was not configured: at its usual one, e.g. "127.0.0.1:8000", or for tests
	// elsewhere. Nil: at the usual one.
	Usual func(address string) string

	// Adopt makes this process responsible for the programs that agents leave behind, and
	// returns what ends them: see sandbox.Adopt. Nil: no process is responsible.
	Adopt func(programs string, all bool) (leave func() error)

	// Keyring is the system keyring if it is nil.
	Keyring secret.Backend

	// Config is the config file that the command line names; "" for none.
	Config string

	// CanAsk reports whether a person is there, who can unlock a keyring.
	CanAsk func() bool

	// Ask asks a person for confirmation, and notes refused if there is none. Nil:
	// there is no person to ask.
	Ask func(ctx context.Context, question, refused string) bool
}

// UsualAddress is where a program with this usual address is.
func (env *Env) UsualAddress(address string) string {
	if env.Usual == nil {
		return address
	}
	return env.Usual(address)
}

// Notes takes what a person should know and what is not data of a command.
type Notes interface {
	// Note is for everybody who did not ask for silence.
	Note(format string, args ...any)
	// Detail is for those who asked for details.
	Detail(format string, args ...any)
	// TellLate is a note that is given once something takes long, and not after
	// done was called.
	TellLate(text string) (done func())
}

// Silent drops all notes.
type Silent struct{}

// Note implements [Notes].
func (Silent) Note(string, ...any) {}

// Detail implements [Notes].
func (Silent) Detail(string, ...any) {}

// TellLate implements [Notes].
func (Silent) TellLate(string) (done func()) { return func() {} }

package kit

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// Env is what a command takes from the world outside its arguments. Two things
// are not in it: files, which a command reads and writes itself, at paths that
// come from here, from the settings or from the command line; and the programs
// that it starts, which LookPath or a person has named.
type Env struct {
	Stdin          io.Reader
	StdinTTY       bool // a user can be asked
	Stdout, Stderr *iostream.Writer
	Getenv         func(string) string
	Environ        func() []string // for the processes of agents: without what is for this one alone
	Root           bool            // this is the user who may do everything
	EffectiveUID   int             // whose rights this process has; -1 where the system has no user IDs
	Journal        bool            // Stderr goes to the journal of systemd
	Now            func() time.Time
	Paths          func() (paths.Set, error)
	HTTP           *http.Client
	Exit           func(int) // ends the program at once
	Hostname       func() (string, error)
	RealUID        int                    // who started this process; -1 where the system has no user IDs
	PID            int                    // of this process
	Executable     func() (string, error) // the path of this program
	LookPath       func(program string) (string, error)
	Getwd          func() (string, error) // the working directory

	// ReadHidden shows a question on the terminal that is Stdin, and reads a
	// line there that is not shown. When ctx ends meanwhile, the terminal is
	// as it was before, and then interrupted is called.
	ReadHidden func(ctx context.Context, question string, interrupted func()) ([]byte, error)

	// Usual says where a program with this usual address is; nil: there.
	Usual func(address string) string

	// Adopt makes this process responsible for the programs that agents leave behind, and
	// returns what ends them. Nil: no process is responsible.
	Adopt func(programs string, all bool) (leave func() error)

	// Keyring is the system keyring if it is nil.
	Keyring secret.Backend
}

// Setup is the world as package setup takes it.
func (a *App) Setup() *setup.Env {
	return &setup.Env{
		Notes: a, Getenv: a.Getenv, Environ: a.Environ, Now: a.Now, Paths: a.Paths, HTTP: a.HTTP, Hostname: a.Hostname, PID: a.PID, LookPath: a.LookPath, Root: a.Root, EffectiveUID: a.EffectiveUID, Getwd: a.Getwd,
		Usual: a.Usual, Adopt: a.Adopt, Executable: a.Executable, Keyring: a.Keyring, Config: a.Config, CanAsk: a.CanAsk,
		Ask: func(ctx context.Context, question, refused string) bool {
			ok, err := a.Confirm(ctx, false, question, refused)
			return ok && err == nil
		},
	}
}

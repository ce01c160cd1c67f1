package cli

import (
	"io"
	"net/http"
	"os"
	"runtime"
	"time"

	"golang.org/x/term"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/paths"
)

// Env is everything that a command may touch outside its arguments.
type Env struct {
	Stdin          io.Reader
	StdinTTY       bool // somebody can be asked
	Stdout, Stderr *iostream.Writer
	Getenv         func(string) string
	Environ        func() []string // all of it, for the processes of agents
	Now            func() time.Time
	Paths          func() (paths.Set, error)
	HTTP           *http.Client
	Exit           func(int) // ends the program at once
}

// systemEnv is the real world. This is the one place that takes it from the
// process.
func systemEnv() *Env {
	return &Env{
		Stdin:    os.Stdin,
		StdinTTY: term.IsTerminal(int(os.Stdin.Fd())),
		Stdout:   iostream.FromFile(os.Stdout),
		Stderr:   iostream.FromFile(os.Stderr),
		Getenv:   os.Getenv,
		Environ:  os.Environ,
		Now:      time.Now,
		Paths:    func() (paths.Set, error) { return paths.New(os.Getenv, runtime.GOOS) },
		HTTP:     &http.Client{CheckRedirect: noRedirect},
		Exit:     os.Exit,
	}
}

// noRedirect hands a redirect out as the answer that it is. A gateway and an
// agent-server send none, and a key must not follow one.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

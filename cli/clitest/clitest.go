// Package clitest runs commands in tests without a command line: an App with
// directories of its own, a keyring in a file, and streams that a test reads.
package clitest

import (
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// App is an App with what it has printed.
type App struct {
	*kit.App

	Out, Err Printed
}

// Printed is a stream that a test reads. Like a file, it may be written to at the same time.
type Printed struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (p *Printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

// String returns what was written so far.
func (p *Printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// Reset forgets what was written.
func (p *Printed) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Reset()
}

// New returns an App with these variables, whose streams are not terminals and whose
// stdin is empty.
func New(t *testing.T, variables map[string]string) *App {
	t.Helper()
	env := setuptest.New(t, variables)
	a := &App{}
	a.App = &kit.App{Env: &kit.Env{
		Stdin: strings.NewReader(""), Stdout: iostream.New(&a.Out, false, nil), Stderr: iostream.New(&a.Err, false, nil),
		Getenv: env.Getenv, Environ: env.Environ, Now: env.Now, Paths: env.Paths, HTTP: env.HTTP, Hostname: env.Hostname, LookPath: env.LookPath, Getwd: env.Getwd, Usual: env.Usual,
		Keyring: env.Keyring, Executable: func() (string, error) { return "/usr/bin/ohgw", nil },
		Exit: func(code int) { t.Errorf("the program ends with %d", code) },
	}}
	return a
}

// Package setuptest makes an Env for tests: directories of its own, a keyring in
// a file, and the variables that a test names.
package setuptest

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/setup"
)

// New makes an Env with these variables. It drops all notes and has no user to ask.
func New(t *testing.T, variables map[string]string) *setup.Env {
	t.Helper()
	top := t.TempDir()
	dirs := paths.Set{
		Home: filepath.Join(top, "home"), Config: filepath.Join(top, "config"), State: filepath.Join(top, "state"), Runtime: filepath.Join(top, "run"),
	}
	return &setup.Env{
		Notes:    setup.Silent{},
		Getenv:   func(name string) string { return variables[name] },
		Environ:  func() []string { return nil },
		Now:      time.Now,
		Paths:    func() (paths.Set, error) { return dirs, nil },
		HTTP:     &http.Client{CheckRedirect: setup.NoRedirect, Transport: &http.Transport{DisableKeepAlives: true}},
		Hostname: func() (string, error) { return "host", nil },
		LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
		Getwd:    func() (string, error) { return top, nil },
		Usual:    func(string) string { return "127.0.0.1:1" }, // nothing is there, whatever this machine runs
		Keyring:  secrettest.FileKeyring(filepath.Join(top, "keyring")),
		CanAsk:   func() bool { return false },
	}
}

// Package boxtest puts the agents of tests into sandboxes. Importing it makes the
// test binary a part of sandboxes as well.
package boxtest

import (
	"context"
	"os"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is the helper, too
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// Variable is the level of the sandboxes in which tests run agents: "full" or
// "reduced"; without it they run them outside. See scripts/test-in-sandbox.
const Variable = "OHGW_TEST_SANDBOX"

// Wanted says that agents are to run in sandboxes.
func Wanted() bool { return os.Getenv(Variable) != "" }

// Outside skips a test of what agents cannot do in a sandbox, and says why.
func Outside(t testing.TB, why string) {
	t.Helper()
	if Wanted() {
		t.Skip("not in a sandbox: " + why)
	}
}

// New makes a manager of sandboxes without a network. Programs can also write in the
// given directories.
func New(t testing.TB, write ...string) *manager.Manager {
	t.Helper()
	// Not t.TempDir: a directory beside the test's own may be writable in the box.
	own, err := os.MkdirTemp("", "ohgw-box-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(own) })
	home, err := os.UserHomeDir() // which has the tools
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // which is the tool server of some tests
	if err != nil {
		t.Fatal(err)
	}
	m, err := manager.New(t.Context(), manager.Config{
		Settings: manager.Settings{Mode: manager.On, Network: manager.NoNetwork, Write: write, Read: []string{self}},
		User:     boxes.User{Home: home, State: own, Environ: os.Environ()},
		Getenv:   os.Getenv,
		Ask: func(context.Context) probe.Result {
			return probe.Result{Level: sandbox.Level(os.Getenv(Variable)), Landlock: 1}
		},
		Test: func(context.Context) ([]escape.Result, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

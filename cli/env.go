package cli

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"
	"golang.org/x/term"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/systemd"
	"github.com/ohgw/ohgw/setup"
)

// Env is what commands take from the world; see [kit.Env].
type Env = kit.Env

// systemEnv takes the real world from the process, in this one place.
func systemEnv() *kit.Env {
	return &kit.Env{
		Stdin:        os.Stdin,
		StdinTTY:     term.IsTerminal(int(os.Stdin.Fd())),
		Stdout:       iostream.FromFile(os.Stdout),
		Stderr:       iostream.FromFile(os.Stderr),
		Getenv:       os.Getenv,
		Environ:      func() []string { return systemd.Clean(os.Environ()) },
		Root:         os.Geteuid() == 0,
		EffectiveUID: os.Geteuid(),
		Journal:      systemd.InJournal(os.Getenv, os.Stderr),
		Now:          time.Now,
		Paths:        func() (paths.Set, error) { return paths.New(systemDirs()) },
		HTTP:         &http.Client{CheckRedirect: setup.NoRedirect},
		Exit:         os.Exit,
		Hostname:     os.Hostname,
		RealUID:      os.Getuid(),
		PID:          os.Getpid(),
		Executable:   os.Executable,
		LookPath:     exec.LookPath,
		Getwd:        os.Getwd,
		Adopt:        adopt,

		ReadHidden: readHidden,
	}
}

// adopt ends what agents of an ohgw that was killed have left behind, and then
// sees to what those of this one leave.
func adopt(programs string, all bool) (leave func() error) {
	sandbox.EndLeftovers(programs)
	return sandbox.Adopt(programs, all)
}

// systemDirs are the directories that the system has for the user's programs.
// Where the environment has no home directory, the library takes the root
// directory for it; only what the environment names itself counts then.
func systemDirs() paths.Base {
	base := paths.Base{
		Config: xdg.ConfigHome, State: xdg.StateHome, Runtime: xdg.RuntimeDir,
		RuntimeChosen: filepath.IsAbs(os.Getenv("XDG_RUNTIME_DIR")),
	}
	home, err := os.UserHomeDir()
	if err != nil {
		base.Config, base.State = os.Getenv("XDG_CONFIG_HOME"), os.Getenv("XDG_STATE_HOME")
	}
	base.Home = home
	return base
}

func readHidden(ctx context.Context, question string, interrupted func()) ([]byte, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	restore := func() { _ = term.Restore(fd, before) } // There is no other way to do it.
	defer restore()
	stop := context.AfterFunc(ctx, func() { restore(); interrupted() })
	defer stop()
	if err := stopEcho(fd); err != nil {
		return nil, err
	}
	if _, err := os.Stderr.WriteString(question); err != nil {
		return nil, err
	}
	return term.ReadPassword(fd)
}

//go:build unix

package terminal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
)

func TestParamsThatCannotBeMetAreRefused(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"terminal_type":"powershell"}`:     "PowerShell",
		`{"username":"somebody"}`:            `"somebody"`,
		`{"shell_path":"/nosuch/bash"}`:      "/nosuch/bash",
		`{"env":{"A B":"x"}}`:                `"A B"`,
		`{"no_change_timeout_seconds":0}`:    "more than 0",
		`{"no_change_timeout_seconds":"x"}`:  "no_change_timeout_seconds",
		`{"nosuchparam":1}`:                  "nosuchparam",
		`{"username":"me","env":null}`:       "",
		`{"terminal_type":"tmux"}`:           "",
		`{"no_change_timeout_seconds":0.25}`: "",
		`null`:                               "",
		``:                                   "",
	} {
		p, err := terminal.ParseParams(json.RawMessage(params))
		if err == nil {
			_, err = terminal.New(terminal.Config{Dir: t.TempDir(), Params: p, User: "me"})
			if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Hint == "") {
				t.Errorf("%s: %v has no next step", params, err)
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

func TestAMachineWithoutBashIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := terminal.New(terminal.Config{Dir: t.TempDir()})
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Msg, "cannot find bash") || !strings.Contains(f.Hint, "install bash") {
		t.Errorf("the error without bash: %v", err)
	}
}

func TestAWorkspaceThatVanishedIsSaid(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "there is no box for it")
	dir := filepath.Join(t.TempDir(), "gone")
	term := open(t, func(cfg *terminal.Config) { cfg.Dir = dir })
	got := sh(t, term, "echo hi")
	if !got.IsError || got.ExitCode != nil || !strings.Contains(got.Text, dir) || !strings.Contains(got.Text, "no such file or directory") {
		t.Errorf("result = %+v", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, term, "echo hi"); got.Text != "hi" {
		t.Errorf("result = %+v", got)
	}
	// While the shell is in it, it goes on.
	if got := sh(t, term, "rmdir "+dir+"; echo on"); got.Text != "on" || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
	if got := sh(t, term, "cd / && pwd"); !strings.HasSuffix(got.Text, "/") || got.code() != 0 {
		t.Errorf("result = %+v", got)
	}
}

func TestOutputThatCannotBeSavedIsStillShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"seq 1 20000", "seq 1 2000000"} {
		term := open(t, func(cfg *terminal.Config) { cfg.SaveDir = filepath.Join(file, "observations") })
		got := sh(t, term, command)
		if got.code() != 0 || !strings.HasPrefix(got.Text, "1\n2\n") || !strings.Contains(got.Model, "could not be saved") {
			t.Errorf("%s: exit code = %d, text %.200s ... suffix %s", command, got.code(), got.Text, got.Metadata.Suffix)
		}
	}
}

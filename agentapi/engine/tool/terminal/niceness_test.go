//go:build unix

package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestProgramsAreNice(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "nice").Output()
	if err != nil {
		t.Skip("there is no nice here")
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*terminal.Config)
		want   int
	}{
		"by default":            {nil, min(own+10, 19)},
		"none":                  {func(c *terminal.Config) { c.Environ = append(os.Environ(), "OH_TERMINAL_PROCESS_PRIORITY= None") }, own},
		"none in the params":    {func(c *terminal.Config) { c.Params.Env = map[string]string{"OH_TERMINAL_PROCESS_PRIORITY": "NONE"} }, own},
		"another word for none": {func(c *terminal.Config) { c.Environ = append(os.Environ(), "OH_TERMINAL_PROCESS_PRIORITY=normal") }, min(own+10, 19)},
		"a machine without it":  {func(c *terminal.Config) { c.Environ, c.Params.ShellPath = []string{"PATH=/nowhere"}, "/bin/bash" }, own},
	} {
		command := "nice; (nice)"
		if strings.HasPrefix(name, "a machine") {
			command = "PATH=/usr/bin:/bin; " + command
		}
		got := sh(t, open(t, tt.change), command)
		if want := strconv.Itoa(tt.want); got.Text != want+"\n"+want {
			t.Errorf("%s: result = %+v, want %s", name, got, want)
		}
	}
}

func TestACloseEndsTheCallThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, func(c *terminal.Config) { c.Dir = dir })
	done := make(chan seen, 1)
	go func() {
		result, err := term.Run(t.Context(), tool.Call{Args: []byte(`{"command":"echo begun; touch begun; sleep 1000; touch after","timeout":500}`)})
		if err != nil {
			t.Error(err)
			close(done)
			return
		}
		done <- read(t, result)
	}()
	waittest.Until(t, waittest.Patience, "the command runs", func() (any, bool) {
		_, err := os.Stat(filepath.Join(dir, "begun"))
		return err, err == nil
	})
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if got := <-done; got.code() != -1 || !got.IsError || got.Text != "begun" || !strings.Contains(got.Model, "closed before the command had ended") {
		t.Errorf("result = %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "after")); err == nil {
		t.Error("the shell went on behind the program that was ended")
	}
	if got := sh(t, term, "echo on"); got.code() != -1 || !got.IsError || term.Alive() {
		t.Errorf("afterwards: %+v", got)
	}
}

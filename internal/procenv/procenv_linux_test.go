package procenv_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/procenv"
)

// A process that becomes another program all the time is found each time.
func TestAProcessIsFoundWhileItBecomesAnotherProgram(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n[ -n \"$begun\" ] || echo\nbegun=1 exec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const variable = "PROCENV_TEST=a process that becomes another program"
	cmd := exec.CommandContext(t.Context(), script)
	cmd.Env = append(os.Environ(), variable)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	const rounds = 100
	missed := 0
	for range rounds {
		found := false
		for pid, environ := range procenv.All() {
			found = found || pid == cmd.Process.Pid && procenv.Find(environ, "PROCENV_TEST=") == variable
		}
		if !found {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("it was missed %d times of %d", missed, rounds)
	}
}

func TestAProcessThatIsBegunMeanwhileIsFound(t *testing.T) {
	t.Parallel()
	var late *exec.Cmd
	found := false
	for pid := range procenv.All() {
		if late == nil {
			late = sleeper(t, []string{"PROCENV_TEST=late"})
		}
		found = found || pid == late.Process.Pid
	}
	if !found {
		t.Error("it was missed")
	}
}

func TestAProcessWithoutVariablesIsLeftOut(t *testing.T) {
	t.Parallel()
	without := sleeper(t, []string{})
	self := false
	for pid := range procenv.All() {
		self = self || pid == os.Getpid()
		if pid == without.Process.Pid {
			t.Error("it has variables")
		}
	}
	if !self {
		t.Error("this process was not found")
	}
}

// More variables than fit in a first look.
func TestManyVariables(t *testing.T) {
	t.Parallel()
	var env []string
	for i := range 3000 {
		env = append(env, fmt.Sprintf("PROCENV_%d=%s", i, strings.Repeat("x", 200)))
	}
	many := sleeper(t, append(env, "PROCENV_TEST=last"))
	if entry := procenv.Find(procenv.Of(many.Process.Pid), "PROCENV_TEST="); entry != "PROCENV_TEST=last" {
		t.Errorf("found %q", entry)
	}
}

// sleeper is a process with these variables.
func sleeper(t *testing.T, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd
}

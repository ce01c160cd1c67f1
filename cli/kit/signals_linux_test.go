package kit

import (
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// Under nohup a hangup does not end the program, and the programs that it starts
// take hangups as usual: else an agent's commands outlive a SIGKILL of ohgw.
func TestNohupIsNotInherited(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := WithSignals(t.Context(), func(int) { t.Error("it ends") })
	defer stop()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "kill -HUP $$; echo ignored").CombinedOutput()
	if err == nil || strings.Contains(string(out), "ignored") {
		t.Errorf("the program ignores SIGHUP: %q, %v", out, err)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Error("the hangup ended the program")
	}
}

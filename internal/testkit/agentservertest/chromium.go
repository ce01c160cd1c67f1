package agentservertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Chromium returns the variables with which the browser tools of OpenHands start this
// machine's Chromium, also from the small Debian of scripts/agent-server, which has none.
// Without one the test is skipped, or fails in CI. OpenHands' extensions, which it would
// download, and its telemetry are off.
func Chromium(t testing.TB) []string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "chromium-1", "chrome-linux", "chrome") // where Playwright has it
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\n[ -x %[1]s ] && exec %[1]s \"$@\"\nexec chroot /proc/%[2]d/root %[1]s \"$@\"\n", path, os.Getpid())
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"PLAYWRIGHT_BROWSERS_PATH=" + dir, "BROWSER_USE_DISABLE_EXTENSIONS=1", "ANONYMIZED_TELEMETRY=false"}
}

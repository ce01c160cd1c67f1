// Package sdktest runs the real OpenHands SDK beside a test: it is the judge
// of the files that ohgw writes and the other side of the locks it takes.
//
// It is for tests with the build tag e2e. It installs nothing: the environment
// variable OHGW_TEST_AGENT_SERVER names a command whose "python ARGS..." is a
// Python with the SDK, and whose "start --port N --dir DIR --key KEY" is an
// agent-server. "--version V" before it chooses another release.
package sdktest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// variable names the command.
const variable = "OHGW_TEST_AGENT_SERVER"

// Command prepares "python -c script args..." in dir, the only directory that
// the SDK is sure to see. The test is skipped without the command; in CI,
// where it has to be there, the test fails.
func Command(t testing.TB, dir, script string, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, dir, append([]string{"python", "-c", script}, args...)...)
}

// CommandOf is Command with the SDK of a version.
func CommandOf(t testing.TB, version, dir, script string, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, dir, append([]string{"--version", version, "python", "-c", script}, args...)...)
}

func command(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	tool := os.Getenv(variable)
	if tool == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set: the real SDK is required in CI", variable)
		}
		t.Skipf("SKIPPED, NOT TESTED AGAINST THE REAL SDK: set %s", variable)
	}
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir = dir
	return cmd
}

// Run returns the standard output of "python -c script args..." in dir, and
// fails the test when Python does.
func Run(t testing.TB, dir, script string, args ...string) []byte {
	t.Helper()
	cmd := Command(t, dir, script, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("python: %v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}

// Result returns what follows the word RESULT in the output of a script. The SDK
// prints a banner and warnings of its own before it.
func Result(t testing.TB, output []byte) []byte {
	t.Helper()
	_, result, found := bytes.Cut(output, []byte("RESULT"))
	if !found {
		t.Fatalf("no RESULT in the output:\n%s", output)
	}
	return result
}

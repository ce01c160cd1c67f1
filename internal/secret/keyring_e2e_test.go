//go:build e2e && linux

package secret_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// withKeyring names a command that runs another one in a D-Bus session with a
// real Secret Service; with --locked, its keyring is locked and no program unlocks it.
const withKeyring = "OHGW_TEST_WITH_KEYRING"

// runInside runs the test of this name again, inside. It returns false there.
func runInside(t *testing.T, options ...string) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return false
	}
	tool := os.Getenv(withKeyring)
	if tool == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set: a real keyring is required in CI", withKeyring)
		}
		t.Skipf("SKIPPED, NOT TESTED AGAINST A REAL KEYRING: set %s", withKeyring)
	}
	cmd := exec.CommandContext(t.Context(), tool, append(options, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")...)
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("running the program: %v\n%s", err, out)
	}
	t.Logf("inside:\n%s", out)
	return true
}

func realKeyring(t *testing.T) *secret.Keyring {
	t.Helper()
	return secret.NewKeyring(secret.KeyringConfig{Index: filepath.Join(t.TempDir(), "keys.json"), LookupEnv: os.LookupEnv})
}

func TestARealKeyringKeepsTheContract(t *testing.T) {
	if runInside(t) {
		return
	}
	k := realKeyring(t)
	if err := k.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrettest.Contract(t, func(*testing.T) secret.Store { return k })
}

// Other programs find the key where the desktop says that it belongs.
func TestSecretToolReadsWhatWeStore(t *testing.T) {
	if runInside(t) {
		return
	}
	k := realKeyring(t)
	set(t, k, "provider/openai", fixtureKey)
	out, err := exec.CommandContext(t.Context(), "secret-tool", "lookup", "service", "ohgw", "username", "provider/openai").Output()
	if err != nil || string(out) != fixtureKey {
		t.Errorf("secret-tool says %q, %v", out, err)
	}
}

func TestALockedKeyringIsUnavailableInTime(t *testing.T) {
	if runInside(t, "--locked") {
		return
	}
	k := realKeyring(t)
	start := time.Now()
	err := k.Set(t.Context(), "provider/openai", secret.New(fixtureKey))
	unavailable, ok := errors.AsType[*secret.UnavailableError](err)
	if !ok || unavailable.Reason != secret.NoAnswer && unavailable.Reason != secret.Failed {
		t.Errorf("Set: %v", err)
	}
	if waited := time.Since(start); waited > 2*secret.PatienceForMachines {
		t.Errorf("waited %s", waited)
	}
	t.Logf("after %s: %v", time.Since(start), err)
}

func TestWithoutABusNoDaemonIsStarted(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	k := realKeyring(t)
	start := time.Now()
	_, err := k.Get(t.Context(), "provider/openai")
	wantReason(t, err, secret.NoBus)
	t.Logf("after %s: %v", time.Since(start), err)
}

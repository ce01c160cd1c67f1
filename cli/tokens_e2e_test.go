//go:build e2e && linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/secret"
)

// state is where the program has its tokens.
func (p *program) state() string { return filepath.Join(p.home, ".local", "state", "ohgw") }

// serveUntil starts a daemon, calls do once it is ready, and ends it. It gives
// what the daemon has said.
func (p *program) serveUntil(t *testing.T, do func(), args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.path, append([]string{"serve", "--addr", "127.0.0.1:0", "--demo", "--json"}, args...)...)
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = p.env, &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("reading the daemon's first line: %v\n%s", err, &said)
	}
	do()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with: %v\n%s", err, &said)
	}
	p.said.Write(said.Bytes())
	return said.String()
}

// lookup asks the keyring with another program than ohgw.
func (p *program) lookup(t *testing.T) string {
	t.Helper()
	entry := secret.TokenEntry(p.state(), "default")
	out, _ := exec.CommandContext(t.Context(), "secret-tool", "lookup", "service", "ohgw", "username", entry).Output() // 1 when there is none
	return string(out)
}

func TestTheDefaultTokenIsKeptByARealKeyring(t *testing.T) {
	if beside(t) {
		return
	}
	p := built(t, nil)
	var value string
	p.serveUntil(t, func() {
		value = strings.TrimSpace(p.run(t, 0, "", "tokens", "show", "default"))
		if got := p.lookup(t); got != value || !strings.HasPrefix(value, "ohgw-") {
			t.Errorf("secret-tool finds %d characters, tokens show %d", len(got), len(value))
		}
		wantSaid(t, p.run(t, 0, "", "models"), "openhands_demo")
		wantSaid(t, p.run(t, 0, "", "status"), "key used\tthe default token (system keyring)")
		wantSaid(t, p.run(t, 0, "", "keys", "status"), "default token\tkept here")
	})
	if _, err := os.Lstat(filepath.Join(p.state(), "default-token")); err == nil {
		t.Error("a file has the value, too")
	}
	if said := p.serveUntil(t, func() { p.run(t, 0, "", "models") }); strings.Contains(said, "keyring") {
		t.Errorf("the second time it says %s", said)
	}

	p.run(t, 0, "", "tokens", "revoke", "default", "--yes")
	if got := p.lookup(t); got != "" {
		t.Error("the value stays in the keyring after revoke")
	}
}

// A locked keyring delays neither the daemon nor its clients for long: a
// private file keeps the token.
func TestALockedKeyringKeepsNobodyWaiting(t *testing.T) {
	if beside(t, "--locked") {
		return
	}
	p := built(t, nil)
	start := time.Now()
	said := p.serveUntil(t, func() {
		if took := time.Since(start); took > patience {
			t.Errorf("ready after %s", took)
		}
		wantSaid(t, p.run(t, 0, "", "models"), "openhands_demo")
	})
	wantSaid(t, said, `the token "default" is in the private file`, "the keyring")
}

func TestWithoutADesktopTheTokenIsInAPrivateFile(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p := built(t, nil)
	look := func() { wantSaid(t, p.run(t, 0, "", "models"), "openhands_demo") }
	wantSaid(t, p.serveUntil(t, look), `the token "default" is in the private file`, "has no D-Bus")
	if said := p.serveUntil(t, look); strings.Contains(said, "private file") {
		t.Errorf("the second time it says %s", said)
	}
	p.run(t, 0, "", "tokens", "revoke", "default", "--yes")
	p.run(t, 0, "", "tokens", "create", "default", "--key-store", "file")
	said := p.serveUntil(t, func() { wantSaid(t, p.run(t, 0, "", "models"), "openhands_demo") })
	if strings.Contains(said, "keys in cleartext") || strings.Contains(said, "private file") {
		t.Errorf("the choice is remembered, and yet it says %s", said)
	}
	wantSaid(t, p.run(t, 0, "", "keys", "status"), "config.toml", "default token\tkept here")
}

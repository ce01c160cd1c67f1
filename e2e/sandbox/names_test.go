//go:build e2e && linux

package sandbox_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// TestAttemptsByName uses names that /etc/hosts has. Programs that know no proxy ask the
// sandbox for them, too: it finds the address, and says why it refuses one.
func TestAttemptsByName(t *testing.T) {
	if !inNamespace() {
		t.Skip("/etc/hosts can be replaced by root only")
	}
	w := newWorld(t, sandbox.Full)
	run := func(network []string, script string) string {
		t.Helper()
		out, err := w.boxed(t.Context(), network, "sh", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("running the program: %v: %s", err, out)
		}
		return string(out)
	}
	const look = "getent hosts " + elsewhereName + " || echo unknown; getent hosts localhost; grep -c . /etc/hosts"
	out := run([]string{elsewhereName}, look)
	if strings.Contains(out, elsewhereAddress) || strings.Contains(out, "unknown") || !strings.Contains(out, elsewhereName) || !strings.Contains(out, "localhost") {
		t.Errorf("an allowed name: %s", out)
	}
	const connect = "curl -sS -m 20 --noproxy '*' http://" + elsewhereName + "/ 2>&1 || true"
	if out := run([]string{elsewhereName}, connect); strings.Contains(strings.ToLower(out), "resolve") {
		t.Errorf("an allowed name: %s", out)
	}
	if out := run(nil, look); strings.Contains(out, elsewhereAddress) || !strings.Contains(out, "unknown") {
		t.Errorf("without a network: %s", out)
	}
	if out := run([]string{"other.example"}, connect); !strings.Contains(out, "host "+elsewhereName+" is not on the allow list") {
		t.Errorf("a name that is not allowed: %s", out)
	}
}

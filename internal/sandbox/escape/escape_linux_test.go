package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary makes the attempts, too
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

func TestSandboxRefusesAll(t *testing.T) {
	var prober probe.Prober
	if r := prober.Ask(t.Context()); r.Level != sandbox.Full && strings.Contains(r.Reason, "forbid") && os.Getenv("CI") != "true" {
		t.Skip(r.Reason)
	}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		state := t.TempDir()
		results, err := Run(t.Context(), level, boxes.User{Home: t.TempDir(), State: state})
		if err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		if len(results) != 7 {
			t.Errorf("%s: %d attempts", level, len(results))
		}
		for _, r := range results {
			if !r.Refused {
				t.Errorf("%s: %s succeeded", level, r.Name)
			}
		}
		if left, err := filepath.Glob(filepath.Join(state, "sandbox", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", level, left, err)
		}
	}
}

// Without a sandbox the attempts succeed: they test something.
func TestAttemptsSucceedOutside(t *testing.T) {
	dir := t.TempDir()
	c, err := newCanaries(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	defer box.Close()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	for _, a := range c.attempts() {
		if a.args[0] == "commondir" {
			continue // It waits for another process to remove the file.
		}
		refused, err := try(t.Context(), box, "/proc/self/exe", self, c.workspace, a)
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		if a.args[0] == "signal" {
			<-c.signals.got // The signal may be on its way.
			continue
		}
		if kept(a, refused) {
			t.Errorf("%s was refused", a.name)
		}
	}
}

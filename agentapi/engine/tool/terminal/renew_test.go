//go:build unix

package terminal_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// widened is a box that becomes too narrow for what runs in it.
type widened struct {
	sandbox.Box

	stale atomic.Bool
}

func (b *widened) Stale() bool { return b.stale.Swap(false) }

func TestAWiderBoxHasANewShellAtTheSamePlace(t *testing.T) {
	t.Parallel()
	box := &widened{Box: sandbox.Outside(sandbox.Off, sandbox.Mark{})}
	term := open(t, func(c *terminal.Config) { c.Box = box })
	run(t, term, `{"command":"mkdir 'a b'\"'\" && cd a*; export FRUIT=\"an 'apple'\nand more\"; local_one=1; shell=$$"}`)
	box.stale.Store(true)
	got := run(t, term, `{"command":"pwd; echo \"[$FRUIT][$local_one][${shell:-new}]\""}`)
	if !strings.HasSuffix(got.Text, "/a b'\n[an 'apple'\nand more][][new]") {
		t.Errorf("the new shell says %q", got.Text)
	}
	if !strings.Contains(got.Model, "The user has allowed more, so this is a new shell in the same directory") {
		t.Errorf("the model is told %q", got.Model)
	}
	if got := run(t, term, `{"command":"echo $FRUIT"}`); !strings.Contains(got.Text, "apple") || strings.Contains(got.Model, "new shell") {
		t.Errorf("afterwards: %+v", got)
	}
}

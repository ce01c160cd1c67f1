//go:build unix

package terminal_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
)

func BenchmarkEcho(b *testing.B) {
	term := open(b, nil)
	sh(b, term, "true")
	for b.Loop() {
		sh(b, term, "echo hi")
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		term := open(b, nil)
		sh(b, term, "echo hi")
		if err := term.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHugeOutput(b *testing.B) {
	dir := b.TempDir()
	term := open(b, func(cfg *terminal.Config) { cfg.SaveDir = dir })
	b.SetBytes(50 << 20)
	b.ReportAllocs()
	for b.Loop() {
		sh(b, term, "yes | head -c 50M")
	}
}

// A program that writes 50 MB must not cost 50 MB.
func TestHugeOutputCostsLittleMemory(t *testing.T) {
	dir := t.TempDir()
	term := open(t, func(cfg *terminal.Config) { cfg.SaveDir = dir })
	sh(t, term, "true")
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, heap())
			}
		}
	}()
	got := sh(t, term, "yes | head -c 50M")
	close(stop)
	<-done
	if n := len([]rune(got.Model)); n > tool.LimitTerminal || !strings.HasPrefix(got.Text, "y\ny\n") || got.code() != 0 {
		t.Errorf("%d characters, exit code %d", n, got.code())
	}
	if most > before+16<<20 {
		t.Errorf("it took %d KB more", (most-before)>>10)
	}
}

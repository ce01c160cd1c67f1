package run_test

import (
	"fmt"
	"testing"

	"github.com/ohgw/ohgw/daemon/run"
)

// BenchmarkRequest looks for the run that a request repeats, and runs another one, while so
// many runs of identical requests are kept.
func BenchmarkRequest(b *testing.B) {
	for _, kept := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("kept=%d", kept), func(b *testing.B) {
			m, err := run.New(run.Config{Backend: newBackend(), OneShotTTL: -1})
			if err != nil {
				b.Fatalf("New: %v", err)
			}
			b.Cleanup(func() {
				if err := m.Close(); err != nil {
					b.Errorf("Close: %v", err)
				}
			})
			serve := func(text string) {
				req := ask(text)
				req.Fresh = true
				a, err := m.Submit(b.Context(), req)
				if err != nil {
					b.Fatalf("Submit: %v", err)
				}
				defer a.Close()
				for err == nil {
					_, err = a.Next(b.Context())
				}
				a.Delivered()
			}
			for range kept {
				serve("hello")
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, again := m.RunOf(ask("hello").Asker, func(string) string { return "1" }); again {
					b.Fatal("an answer that was delivered was found without a mark")
				}
				serve(fmt.Sprintf("hello %d", i))
			}
		})
	}
}

package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// thorough is Text without its shortcuts.
func thorough(s string) string {
	for _, shape := range shapes {
		s = shape.re().ReplaceAllString(s, shape.with)
	}
	return s
}

func TestNoShortcutMissesAKey(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"sk", "-", "_", "rk", "ghp", "github_pat", "xoxb", "AIza", "gAAAAA", "hf", "ohgw", "a", "B", "0123456789", "xyzXYZ", "*", "=", ":", " ", "\"",
		"Bearer", "BASIC", "token", "Api_Key", "SECRET", "passwd", "://", "u", "@", "/", ".", "é", "\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		if got, want := Text(text), thorough(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	})
}

func BenchmarkTextOfAnInnocentCell(b *testing.B) {
	cells := []string{"anthropic/claude-sonnet-4-5", "https://proxy.example.org/v1", "key stored for the profile", "p00001", ""}
	b.ReportAllocs()
	for b.Loop() {
		for _, cell := range cells {
			if Text(cell) != cell {
				b.Fatal(cell)
			}
		}
	}
}

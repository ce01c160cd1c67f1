package setup

import (
	"testing"
)

func TestCleanTakesWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"plain ünïcode …", "plain ünïcode …"},
		{"a\nb\tc\r", "a b c "},
		{"\x1b[31mred\x1b[0m\x07", "[31mred[0m"},
		{"\u009b31mred\x7f", "31mred"},
		{"the key sk-1234567890abcdef is wrong", "the key [redacted] is wrong"},
	}
	for _, tt := range tests {
		if got := Clean(tt.text); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

package suggest_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/suggest"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	commands := []string{"serve", "models", "status", "tokens", "config", "version"}
	tests := []struct{ word, want string }{
		{"srve", "serve"},  // a letter is missing
		{"sevre", "serve"}, // two are swapped
		{"modles", "models"},
		{"Status", "status"},
		{"statuss", "status"},
		{"tokken", "tokens"}, // two edits in six letters
		{"tok", "tokens"},    // its beginning
		{"s", ""},            // of too many
		{"x", ""},
		{"profiles", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := suggest.Nearest(tt.word, commands); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestNearestPrefersTheCloser(t *testing.T) {
	t.Parallel()
	if got := suggest.Nearest("max-run", []string{"max-queue", "max-runs", "run"}); got != "max-runs" {
		t.Errorf("got %q", got)
	}
}

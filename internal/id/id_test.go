package id_test

import (
	"regexp"
	"testing"

	"github.com/ohgw/ohgw/internal/id"
)

func TestNewIsUniqueAndHexadecimal(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^req_[0-9a-f]{32}$`)
	seen := map[string]bool{}
	for range 1000 {
		got := id.New("req_")
		if !form.MatchString(got) {
			t.Fatalf("New = %q, want 32 hexadecimal digits after the prefix", got)
		}
		if seen[got] {
			t.Fatalf("New gave %q twice", got)
		}
		seen[got] = true
	}
	if got := id.New(""); len(got) != 32 {
		t.Errorf("New without a prefix = %q, want 32 digits", got)
	}
}

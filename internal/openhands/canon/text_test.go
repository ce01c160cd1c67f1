package canon_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands/canon"
)

// Every action and every warning of canon.go has words for people.
func TestEverythingHasWords(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("canon.go")
	if err != nil {
		t.Fatal(err)
	}
	values := regexp.MustCompile(`(?m)^\t\w+\s+(Action |Warning )?\s*= "([a-z0-9-]+)"`).FindAllStringSubmatch(string(src), -1)
	if len(values) < 25 {
		t.Fatalf("found %d constants only", len(values))
	}
	for _, v := range values {
		if canon.Action(v[2]).Text() == "" && canon.Warning(v[2]).Text() == "" {
			t.Errorf("%s has no words", v[2])
		}
	}
}

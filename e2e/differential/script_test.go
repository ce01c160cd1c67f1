//go:build e2e

package differential_test

import (
	"os"
	"strings"
	"testing"
)

// steps are the lines of the script, and what is made of them: the lines below
// "BODIES" are routes that are asked with every body of a list.
func steps(t *testing.T) func(yield func(string) bool) {
	t.Helper()
	data, err := os.ReadFile("testdata/script.txt")
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		var bodies []string
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			switch {
			case line == "", strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "BODY"):
				bodies = append(bodies, strings.TrimSpace(strings.TrimPrefix(line, "BODY")))
			case strings.HasPrefix(line, "EACH "):
				for _, body := range bodies {
					if !yield(strings.TrimPrefix(line, "EACH ") + " " + body) {
						return
					}
				}
			default:
				if !yield(line) {
					return
				}
			}
		}
	}
}

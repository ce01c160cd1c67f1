//go:build e2e && linux

package providers_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// explained is a line of testdata/differences.tsv: a difference that is as it
// should be. In all columns but the reason * stands for any text; several
// models are parted by a space.
type explained struct {
	line                       int
	model, place, ours, theirs *regexp.Regexp
	used                       bool
	text                       string
}

// differencesFile is the table of the differences that are accepted.
const differencesFile = "testdata/differences.tsv"

// readExplained reads the table. Its lines have five columns: models, place,
// ours, theirs, reason. Lines that begin with # are comments.
func readExplained(t *testing.T) []*explained {
	t.Helper()
	data, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []*explained
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		const wanted = 5
		if len(columns) != wanted || strings.TrimSpace(columns[wanted-1]) == "" {
			t.Fatalf("%s:%d: %d columns, want model, place, ours, theirs and reason with tabs between them", differencesFile, i+1, len(columns))
		}
		out = append(out, &explained{
			line: i + 1, text: line,
			model: glob(strings.Fields(columns[0])...), place: glob(columns[1]), ours: glob(columns[2]), theirs: glob(columns[3]),
		})
	}
	return out
}

// glob matches any of the patterns.
func glob(patterns ...string) *regexp.Regexp {
	for i, p := range patterns {
		patterns[i] = strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `.*`)
	}
	return regexp.MustCompile(`(?s)^(` + strings.Join(patterns, "|") + `)$`)
}

// explain finds the first line that accepts a difference.
func explain(table []*explained, model string, d difference) *explained {
	for _, e := range table {
		if e.model.MatchString(model) && e.place.MatchString(d.place) && e.ours.MatchString(d.ours) && e.theirs.MatchString(d.theirs) {
			e.used = true
			return e
		}
	}
	return nil
}

package repocheck_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFlakyTestsAreDescribed holds docs/flaky.tsv, the list of the tests that were run
// again, in its form: a test that is there, what was seen, since when.
func TestFlakyTestsAreDescribed(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(read(t, "docs/flaky.tsv"), "\n"), "\n")
	if lines[0] != "test\tseen\tsince" {
		t.Errorf("docs/flaky.tsv begins with %q", lines[0])
	}
	var tests strings.Builder
	for _, name := range files(t) {
		if strings.HasSuffix(name, "_test.go") {
			tests.WriteString(read(t, name))
		}
	}
	for _, line := range lines[1:] {
		columns := strings.Split(line, "\t")
		if len(columns) != 3 || strings.TrimSpace(columns[1]) == "" {
			t.Errorf("%q does not have the three columns test, seen, since", line)
			continue
		}
		name := regexp.MustCompile(`^github\.com/ohgw/ohgw/.+\.((?:Test|Fuzz|Example)\w*)(?:/.+)?$`).FindStringSubmatch(columns[0])
		if name == nil || !strings.Contains(tests.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("there is no test %q", columns[0])
		}
		if at, err := time.Parse(time.DateOnly, columns[2]); err != nil || at.After(time.Now().AddDate(0, 0, 1)) {
			t.Errorf("%q is not a day: %v", columns[2], err)
		}
	}
}

package repocheck_test

import (
	"os"
	"regexp"
	"strconv"
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

// TestFlakyTestsAreRepairedInTime fails for a row that is older than OHGW_FLAKY_DAYS
// days. Only `make check-all` sets it: a commit does not become wrong overnight.
func TestFlakyTestsAreRepairedInTime(t *testing.T) {
	t.Parallel()
	days, err := strconv.Atoi(os.Getenv("OHGW_FLAKY_DAYS"))
	if err != nil {
		days = 1 << 16
	}
	for _, row := range olderThan(read(t, "docs/flaky.tsv"), time.Now().AddDate(0, 0, -days)) {
		t.Errorf("docs/flaky.tsv has had this row for more than %d days; repair the cause: %s", days, row)
	}
}

// olderThan is the rows of a list of flaky tests that were added before a time.
func olderThan(list string, limit time.Time) (rows []string) {
	for _, row := range strings.Split(list, "\n")[1:] {
		at, err := time.Parse(time.DateOnly, row[strings.LastIndexByte(row, '\t')+1:])
		if err == nil && at.Before(limit) {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestOlderRowsAreFound(t *testing.T) {
	t.Parallel()
	list := "test\tseen\tsince\na.TestA\tslow\t2026-01-01\nb.TestB\tslow\t2026-01-09\n"
	limit := time.Date(2026, 1, 8, 12, 0, 0, 0, time.UTC)
	if got := olderThan(list, limit); len(got) != 1 || !strings.HasPrefix(got[0], "a.TestA") {
		t.Errorf("rows before %s: %q", limit, got)
	}
}

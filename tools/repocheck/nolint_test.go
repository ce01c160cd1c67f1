package repocheck_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExceptionsNameLintersThatAreOn: an exception for a linter that .golangci.yml does
// not enable excepts nothing. nolintlint sees those of the linters that are enabled only.
func TestExceptionsNameLintersThatAreOn(t *testing.T) {
	t.Parallel()
	on := enabledLinters(t, read(t, ".golangci.yml"))
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, c := range group.List {
				if problem := badException(c.Text, on); problem != "" {
					t.Errorf("%s:%d: %s: %s", s.name, s.line(c.Pos()), c.Text, problem)
				}
			}
		}
	}
}

// enabledLinters reads them from the configuration of golangci-lint.
func enabledLinters(t *testing.T, config string) []string {
	t.Helper()
	_, list, found := strings.Cut(config, "\n  enable:\n")
	var on []string
	for line := range strings.SplitSeq(list, "\n") {
		name, item := strings.CutPrefix(line, "    - ")
		if !item {
			break
		}
		on = append(on, name)
	}
	if !found || len(on) == 0 {
		t.Fatal(".golangci.yml enables no linter")
	}
	return on
}

var exception = regexp.MustCompile(`^//\s*nolint\b(?::([\w,]+))?(?:\s*// ?(\S.*))?`)

// badException says what is wrong with a comment that excepts a line from linters, "" for
// any other comment.
func badException(comment string, on []string) string {
	if !strings.Contains(comment, "nolint") {
		return "" // As nearly all comments; the pattern takes longer.
	}
	m := exception.FindStringSubmatch(comment)
	switch {
	case m == nil:
		return ""
	case m[1] == "":
		return "it names no linter"
	case m[2] == "":
		return "it gives no reason"
	}
	for name := range strings.SplitSeq(m[1], ",") {
		if !slices.Contains(on, name) {
			return name + " is not enabled in .golangci.yml"
		}
	}
	return ""
}

func TestBadExceptionsAreFound(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string]string{
		"// A comment about nolint.":            "",
		"//nolint:gosec // Our own file.":       "",
		"//nolint:gosec,errcheck // Both.":      "",
		"//nolint":                              "it names no linter",
		"//nolint // Because.":                  "it names no linter",
		"//nolint:gosec":                        "it gives no reason",
		"//nolint:gosec,wrapcheck // Our own.":  "wrapcheck is not enabled in .golangci.yml",
		"// nolint:wrapcheck // With a blank.":  "wrapcheck is not enabled in .golangci.yml",
		"//nolint:all // Nothing is all right.": "all is not enabled in .golangci.yml",
	} {
		if diff := cmp.Diff(want, badException(comment, []string{"gosec", "errcheck"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", comment, diff)
		}
	}
}

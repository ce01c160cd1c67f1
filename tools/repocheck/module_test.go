package repocheck_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestModulesAgree holds every go.mod to the Go version of ours, and ours to
// what `go install` from elsewhere can read.
func TestModulesAgree(t *testing.T) {
	t.Parallel()
	goLine := regexp.MustCompile(`(?m)^go (\S+)$`)
	want := goLine.FindString(read(t, "go.mod"))
	if want != "go 1.26.0" {
		t.Errorf("go.mod says %q, want go 1.26.0", want)
	}
	for _, name := range files(t) {
		if path.Base(name) != "go.mod" {
			continue
		}
		text := read(t, name)
		if got := goLine.FindString(text); got != want {
			t.Errorf("%s says %q, the root module %q", name, got, want)
		}
		if regexp.MustCompile(`(?m)^toolchain `).MatchString(text) {
			t.Errorf("%s has a toolchain line", name)
		}
		for _, line := range regexp.MustCompile(`(?m)^(replace|exclude) .*|^(replace|exclude)\s*\(`).FindAllString(text, -1) {
			t.Errorf("%s: %q: nobody else's build would see it", name, line)
		}
	}
}

// TestDirectDependenciesAreRecorded asks for a line in a decision record for
// each module the program is built from.
func TestDirectDependenciesAreRecorded(t *testing.T) {
	t.Parallel()
	var records strings.Builder
	for _, name := range files(t) {
		if within(path.Dir(name), "docs/adr") {
			records.WriteString(read(t, name))
		}
	}
	direct := map[string]bool{}
	for _, s := range sources(t) {
		if s.forTests() || within(s.dir, "e2e") {
			continue
		}
		for _, spec := range s.tree.Imports {
			direct[strings.Trim(spec.Path.Value, `"`)] = true
		}
	}
	require := regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) (v\S+)( // indirect)?$`)
	for _, m := range require.FindAllStringSubmatch(read(t, "go.mod"), -1) {
		used := false
		for imported := range direct {
			used = used || within(imported, m[1])
		}
		if used && !strings.Contains(records.String(), m[1]) {
			t.Errorf("%s is built into the program, and no record in docs/adr says why", m[1])
		}
	}
}

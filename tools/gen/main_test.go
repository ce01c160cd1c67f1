package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ohgw is the source of this repository. All tests read the same one.
func ohgw(t *testing.T) []source {
	t.Helper()
	program, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var parsed = sync.OnceValues(func() ([]source, error) { return sources("../..") })

func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	const root = "../.."
	files, err := generate(root, ohgw(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("a generated file: %v; run go generate ./...", err)
			continue
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is stale; run go generate ./... (-want +got):\n%s", name, diff)
		}
	}
}

func TestGeneratingChangesNothingOutsideTheMarks(t *testing.T) {
	t.Parallel()
	got, err := between("before\n"+begin+"old\n"+end+"after\n", "new\n")
	if want := "before\n" + begin + "new\n" + end + "after\n"; err != nil || got != want {
		t.Errorf("between() = %q, %v, want %q", got, err, want)
	}
	for _, page := range []string{"", begin, end, end + begin} {
		if got, err := between(page, "new\n"); err == nil {
			t.Errorf("between(%q) = %q, want an error", page, got)
		}
	}
}

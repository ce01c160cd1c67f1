package recordfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/recordfile"
	"github.com/ohgw/ohgw/internal/recordfile/recordtest"
)

func TestDirectoriesKeepTheContract(t *testing.T) {
	t.Parallel()
	recordtest.Run(t, func(t *testing.T) recordtest.Store {
		t.Helper()
		return recordfile.Open(filepath.Join(t.TempDir(), "records"))
	})
}

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	recordtest.Run(t, func(*testing.T) recordtest.Store { return recordfile.Open("") })
}

func TestAChangeThatWasCutOffSpoilsNone(t *testing.T) {
	t.Parallel()
	record, changes := recordfile.Lines([]byte("whole\n\n{\"a\":1}\n\n{\"b\n{\"c\":3}\n"))
	var got []string
	for c := range changes {
		got = append(got, string(c))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b`, `{"c":3}`}, got); diff != "" || string(record) != "whole" {
		t.Errorf("record %q, changes %s", record, diff)
	}
}

// A temporary file is no record: a process may be writing it just then.
func TestTemporaryFilesAreNotGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := recordfile.Open(dir)
	if err := d.Write("ab/1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "ab", ".ohgw-1.tmp")
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := d.Each(t.Context(), func(name string, _ time.Time) error {
		seen = append(seen, name)
		return nil
	})
	if err != nil || !slices.Equal(seen, []string{"ab/1"}) {
		t.Errorf("records %v, %v", seen, err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Error(err)
	}
}

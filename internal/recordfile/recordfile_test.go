package recordfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// everywhere runs a test with a directory and in memory.
func everywhere(t *testing.T, test func(t *testing.T, d *recordfile.Dir)) {
	t.Helper()
	t.Parallel()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		test(t, recordfile.Open(filepath.Join(t.TempDir(), "records")))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, recordfile.Open(""))
	})
}

func TestARecordGrowsByItsChanges(t *testing.T) {
	everywhere(t, func(t *testing.T, d *recordfile.Dir) {
		if err := d.Write("ab/one", []byte("whole\n")); err != nil {
			t.Fatal(err)
		}
		for _, change := range []string{"first", "second"} {
			if err := d.Append("ab/one", []byte(change)); err != nil {
				t.Fatal(err)
			}
		}
		data, err := d.Read("ab/one")
		if err != nil {
			t.Fatal(err)
		}
		record, changes := recordfile.Lines(data)
		var got []string
		for c := range changes {
			got = append(got, string(c))
		}
		if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" || string(record) != "whole" {
			t.Errorf("record %q, changes %s", record, diff)
		}
		if head, err := d.Head("ab/one", 3); err != nil || string(head) != "who" {
			t.Errorf("Head: %q, %v", head, err)
		}
		if err := d.Write("ab/one", []byte("new\n")); err != nil {
			t.Fatal(err)
		}
		if data, err := d.Read("ab/one"); err != nil || string(data) != "new\n" {
			t.Errorf("after a whole record: %q, %v", data, err)
		}
	})
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

func TestWithoutARecord(t *testing.T) {
	everywhere(t, func(t *testing.T, d *recordfile.Dir) {
		_, readErr := d.Read("ab/none")
		_, headErr := d.Head("ab/none", 8)
		for name, err := range map[string]error{"Read": readErr, "Head": headErr, "Append": d.Append("ab/none", []byte("x"))} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, want fs.ErrNotExist", name, err)
			}
		}
		if err := d.Remove("ab/none", "cd/none"); err != nil {
			t.Errorf("Remove: %v", err)
		}
		if err := d.Each(t.Context(), func(name string, _ time.Time) error { return errors.New(name) }); err != nil {
			t.Errorf("Each: %v", err)
		}
	})
}

func TestEachMayRemove(t *testing.T) {
	everywhere(t, func(t *testing.T, d *recordfile.Dir) {
		for _, name := range []string{"ab/2", "ab/1", "cd/3"} {
			if err := d.Write(name, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		var seen []string
		remove := func(name string, _ time.Time) error {
			seen = append(seen, name)
			return d.Remove(name)
		}
		if err := d.Each(t.Context(), remove); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ab/1", "ab/2", "cd/3"}, seen); diff != "" {
			t.Error(diff)
		}
		if err := d.Each(t.Context(), func(name string, _ time.Time) error { return errors.New(name) }); err != nil {
			t.Errorf("still there: %v", err)
		}
	})
}

func TestEachEndsWithItsContext(t *testing.T) {
	everywhere(t, func(t *testing.T, d *recordfile.Dir) {
		if err := d.Write("ab/1", []byte("x")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Each(ctx, func(string, time.Time) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Each: %v", err)
		}
	})
}

func TestTemporaryFilesAreNoRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := recordfile.Open(dir)
	if err := errors.Join(d.Write("ab/1", []byte("x")), os.WriteFile(filepath.Join(dir, "ab", ".ohgw-1.tmp"), nil, 0o600)); err != nil {
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
}

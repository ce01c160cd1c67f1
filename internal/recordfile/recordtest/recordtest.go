// Package recordtest is the contract of stores of records as tests: those in files,
// in memory, and in a database pass it alike.
package recordtest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// Store keeps records; see [recordfile.Dir].
type Store interface {
	Read(name string) ([]byte, error)
	Head(name string, n int) ([]byte, error)
	Write(name string, data []byte) error
	WriteUnsynced(name string, data []byte) error
	Append(name string, change []byte) error
	Remove(names ...string) error
	Each(ctx context.Context, f func(name string, written time.Time) error) error
}

// Run checks the stores that open makes, which are empty.
func Run(t *testing.T, open func(*testing.T) Store) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Store){
		"ARecordGrowsByItsChanges":  grows,
		"ChangesAtTheSameTimeStay":  growsTogether,
		"WithoutARecord":            absent,
		"EachMayRemove":             each,
		"EachEndsWithItsContext":    eachEnds,
		"ALongRecordComesBackWhole": long,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// content is a record with its changes.
func content(t *testing.T, s Store, name string) (record string, changes []string) {
	t.Helper()
	data, err := s.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	first, rest := recordfile.Lines(data)
	for c := range rest {
		changes = append(changes, string(c))
	}
	return string(first), changes
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func grows(t *testing.T, s Store) {
	must(t, s.Write("ab/one", []byte("whole\n")))
	must(t, s.Append("ab/one", []byte("first")))
	must(t, s.Append("ab/one", []byte("second")))
	record, changes := content(t, s, "ab/one")
	if diff := cmp.Diff([]string{"first", "second"}, changes); diff != "" || record != "whole" {
		t.Errorf("record %q, changes %s", record, diff)
	}
	if head, err := s.Head("ab/one", 3); err != nil || string(head) != "who" {
		t.Errorf("Head: %q, %v", head, err)
	}
	must(t, s.Write("ab/one", []byte("new\n")))
	if data, err := s.Read("ab/one"); err != nil || string(data) != "new\n" {
		t.Errorf("after a whole record: %q, %v", data, err)
	}
	must(t, s.WriteUnsynced("ab/one.events", []byte("beside")))
	if data, err := s.Read("ab/one.events"); err != nil || string(data) != "beside" {
		t.Errorf("beside the record: %q, %v", data, err)
	}
}

func growsTogether(t *testing.T, s Store) {
	must(t, s.Write("ab/one", []byte("whole\n")))
	var wg sync.WaitGroup
	var want []string
	for i := range 10 {
		want = append(want, strconv.Itoa(i))
		wg.Go(func() {
			if err := s.Append("ab/one", []byte(strconv.Itoa(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, got := content(t, s, "ab/one")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func absent(t *testing.T, s Store) {
	_, readErr := s.Read("ab/none")
	_, headErr := s.Head("ab/none", 8)
	for name, err := range map[string]error{"Read": readErr, "Head": headErr, "Append": s.Append("ab/none", []byte("x"))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", name, err)
		}
	}
	must(t, s.Remove("ab/none", "cd/none"))
	must(t, s.Each(t.Context(), func(name string, _ time.Time) error { return errors.New(name) }))
}

func each(t *testing.T, s Store) {
	for _, name := range []string{"ab/2", "ab/1", "cd/3"} {
		must(t, s.Write(name, []byte("x")))
	}
	var seen []string
	must(t, s.Each(t.Context(), func(name string, _ time.Time) error {
		seen = append(seen, name)
		return s.Remove(name)
	}))
	if diff := cmp.Diff([]string{"ab/1", "ab/2", "cd/3"}, seen); diff != "" {
		t.Error(diff)
	}
	must(t, s.Each(t.Context(), func(name string, _ time.Time) error { return errors.New(name) }))
}

func eachEnds(t *testing.T, s Store) {
	must(t, s.Write("ab/1", []byte("x")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Each(ctx, func(string, time.Time) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Each: %v", err)
	}
}

func long(t *testing.T, s Store) {
	data := make([]byte, 300<<10)
	for i := range data {
		data[i] = byte(i * 7)
	}
	must(t, s.Write("ab/1", data))
	if got, err := s.Read("ab/1"); err != nil || !slices.Equal(got, data) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

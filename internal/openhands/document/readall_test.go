package document_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadAllKeepsTheOrder(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var sources []document.Source
	for i := range 100 {
		f := put(t, document.ProfileFile(base, strconv.Itoa(i)), fmt.Sprintf(`{"model":"m%d"}`, i))
		sources = append(sources, document.Source{File: f, Look: i%2 == 0})
	}
	sources = append(sources,
		document.Source{File: document.ProfileFile(base, "gone")},
		document.Source{File: document.ProfileFile(base, "dir"), Type: fs.ModeDir})
	snaps, err := document.ReadAll(t.Context(), sources)
	if err != nil || len(snaps) != 102 {
		t.Fatalf("number of snapshots = %d, error %v", len(snaps), err)
	}
	for i := range 100 {
		if got := snaps[i].Entries()[0].Model(); got != fmt.Sprintf("m%d", i) {
			t.Errorf("%d: model = %s", i, got)
		}
	}
	if !snaps[100].Missing() {
		t.Error("a file that is gone is not missing")
	}
	wantGate(t, snaps[101], canon.ErrorUnreadable)
}

func TestReadAllEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := document.ReadAll(ctx, []document.Source{{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if snaps, err := document.ReadAll(t.Context(), nil); len(snaps) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", snaps, err)
	}
}

func TestListDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if entries, err := document.ListDir(document.ProfilesDir(base)); entries != nil || err != nil {
		t.Errorf("a missing directory: %v, %v", entries, err)
	}
	for _, name := range []string{"b", "a-b", "a"} {
		put(t, document.ProfileFile(base, name), "{}")
	}
	put(t, document.File{Path: document.ProfilesDir(base) + "/x.tmp"}, "{}")
	entries, err := document.ListDir(document.ProfilesDir(base))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, e := range entries {
		got += document.Stem(e) + " "
	}
	if got != "a a-b b " {
		t.Errorf("entries = %s", got)
	}
	f := put(t, document.File{Path: base + "/file"}, "")
	if _, err := document.ListDir(f.Path); err == nil {
		t.Error("a file is listed")
	}
}

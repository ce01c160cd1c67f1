//go:build unix

package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// What comes and goes with each turn takes no file of its own.
func TestMarkersAndLeasesMakeNoFiles(t *testing.T) {
	t.Parallel()
	opts := us()
	opts.Unkept = &store.Unkept{}
	d := create(t, t.TempDir(), opts)
	events := filepath.Join(d.Path(), "events")
	stat := func(dir, name string) os.FileInfo {
		t.Helper()
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	lease := stat(d.Path(), "owner_lease.json")
	if !os.SameFile(stat(d.Path(), ".ohgw-unkept"), stat(d.Path(), ".owner_lease.lock")) {
		t.Error("the mark of a conversation that is not kept is a file of its own")
	}
	if err := opts.Unkept.Keep(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		appendTo(t, d, 1)
		if !os.SameFile(stat(events, marker(n)), stat(events, ".eventlog.lock")) {
			t.Errorf("the marker %d is a file of its own", n)
		}
	}
	if err := errors.Join(d.KeepLease(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(stat(d.Path(), "owner_lease.json"), lease) {
		t.Error("the lease is another file")
	}
}

// Another program may have written a longer lease.
func TestALongerLeaseIsWrittenOver(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, us())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path(), "owner_lease.json")
	longer := `{"owner_instance_id":"theirs","generation":7,"expires_at":1,"more":"` + strings.Repeat("x", 500) + `"}`
	if err := os.WriteFile(path, []byte(longer), 0o600); err != nil {
		t.Fatal(err)
	}
	reopen(t, root, us())
	data, err := os.ReadFile(path)
	var now struct {
		Instance   string `json:"owner_instance_id"`
		Generation int
	}
	if err := errors.Join(err, json.Unmarshal(data, &now)); err != nil || now.Instance != "ours" || now.Generation != 8 {
		t.Errorf("the lease is %+v, %v; the file: %q", now, err, data)
	}
}

// Another process may have taken the conversation, or removed it.
func TestAMetaFileOfAnotherProcessStays(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		root, opts := t.TempDir(), us()
		opts.Unkept = &store.Unkept{}
		d := create(t, root, opts)
		path := filepath.Join(d.Path(), "meta.json")
		err := os.WriteFile(path, []byte("theirs"), 0o600)
		if removed {
			err = os.RemoveAll(d.Path())
		}
		if err := errors.Join(err, d.Close()); err != nil {
			t.Errorf("removed %t: %v", removed, err)
		}
		if data, _ := os.ReadFile(path); !removed && string(data) != "theirs" {
			t.Errorf("meta.json is %q", data)
		}
	}
}

// A conversation of which nothing came has its file when it is closed.
func TestAClosedOneShotHasItsMetaFile(t *testing.T) {
	t.Parallel()
	opts := us()
	opts.Unkept = &store.Unkept{}
	d := create(t, t.TempDir(), opts)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Path(), "meta.json")); err != nil {
		t.Error(err)
	}
}

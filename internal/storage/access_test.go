package storage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/ohgw/ohgw/internal/storage"
)

func TestAccessIsAModeForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"shut": {Mode: fs.ModeDir}, "open": {Mode: fs.ModeDir | 0o700}, "a b": {Mode: fs.ModeDir | 0o500},
		"open/file": {Mode: 0o200}, "open/fine": {Mode: 0o600},
	}
	for _, tt := range []struct {
		path string
		mine bool
		want string
	}{
		{"shut", true, "chmod u+rwx shut"},
		{"shut/profiles/p.json", true, "chmod u+rwx shut"},
		{"shut", false, "sudo chown $USER shut"},
		{"a b", true, `chmod u+rwx 'a b'`},
		{"open", true, "sudo chown $USER open"},
		{"open/file", true, "chmod u+rw open/file"},
		{"open/fine", true, "sudo chown $USER open/fine"},
	} {
		if got := storage.Access(tt.path, files.Stat, func(fs.FileInfo) bool { return tt.mine }); got != tt.want {
			t.Errorf("%s: access = %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestForeignDirectoriesAreThoseWithFilesOfOthers(t *testing.T) {
	t.Parallel()
	mine, others, empty := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{mine, others} {
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	owned := func(info fs.FileInfo) bool { return info.IsDir() }
	got := storage.Foreign([]string{empty, others, filepath.Join(mine, "missing")}, owned)
	if want := []string{others}; !slices.Equal(got, want) {
		t.Errorf("foreign directories = %q, want %q", got, want)
	}
	if got, want := storage.Reclaim([]string{"/a", "/b c", "/$HOME"}), "sudo chown -R $USER /a '/b c' '/$HOME'"; got != want {
		t.Errorf("Reclaim = %s, want %s", got, want)
	}
}

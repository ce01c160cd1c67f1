package storage_test

import (
	"io/fs"
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
		{"a b", true, `chmod u+rwx "a b"`},
		{"open", true, "sudo chown $USER open"},
		{"open/file", true, "chmod u+rw open/file"},
		{"open/fine", true, "sudo chown $USER open/fine"},
	} {
		if got := storage.Access(tt.path, files.Stat, func(fs.FileInfo) bool { return tt.mine }); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.path, got, tt.want)
		}
	}
}

package unpack_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/unpack"
)

// FuzzInto unpacks what may come from outside. Nothing is written beside the new
// directory, no link in it leads out, and an archive that is refused leaves nothing.
func FuzzInto(f *testing.F) {
	entries := []entry{{name: "a/"}, {name: "a/run", body: "x"}, {name: "b/c", body: strings.Repeat("abc", 100)}, {name: "a/l", link: "../b/c"}}
	links := append(entries[:len(entries):len(entries)], entry{name: "a/l/x", body: "y"}, entry{name: "out", link: "../.."}, entry{name: "out/x", body: "z"})
	for _, list := range [][]entry{nil, entries, links, {{name: "../x", body: "x"}}, {{name: `C:\x`, body: "x"}}} {
		f.Add(zipped(f, list...))
		f.Add(tarball(f, append(list[:len(list):len(list)], entry{name: "hard", link: "hard:a/run"}, entry{name: "fifo", link: "fifo"})...))
	}
	limits := unpack.Limits{Entries: 50, Bytes: 1 << 20, RatioFrom: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "new")
		got, err := unpack.Into(t.Context(), bytes.NewReader(data), dir, limits)
		if left, want := listed(t, above), 1; err != nil && len(left) != 0 || err == nil && (len(left) != want || left[0] != "new") {
			t.Fatalf("Into() = %v, left %q", err, left)
		}
		if err != nil {
			return
		}
		files, size := 0, int64(0)
		walkErr := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode().IsRegular() {
				files, size = files+1, size+info.Size()
				return nil
			}
			target, err := os.Readlink(name)
			if rel, relErr := filepath.Rel(dir, filepath.Join(filepath.Dir(name), target)); err != nil || relErr != nil || filepath.IsAbs(target) || !filepath.IsLocal(rel) {
				t.Errorf("%s (%v) leads to %q, %v", name, info.Mode(), target, err)
			}
			return nil
		})
		if walkErr != nil || files != got.Files || size > limits.Bytes || got.Bytes < size {
			t.Errorf("%d files of %d bytes, %v; Into() = %+v", files, size, walkErr, got)
		}
	})
}

// listed are the names in a directory.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

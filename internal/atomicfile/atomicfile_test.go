package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

func TestWriteMakesAPrivateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.json")
	mustWrite(t, path, "content", atomicfile.Options{})
	if got := read(t, path); got != "content" {
		t.Errorf("content = %q", got)
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("mode = %o, want 600", got)
	}
}

func TestWriteKeepsTheModeOfAnExistingFile(t *testing.T) {
	t.Parallel()
	for _, m := range []fs.FileMode{0o400, 0o600, 0o640, 0o644} {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, "old", m)
		mustWrite(t, path, "new", atomicfile.Options{})
		if got := mode(t, path); got != m {
			t.Errorf("mode = %o, want %o", got, m)
		}
	}
}

func TestTemporaryFilesAreKnown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{".ohgw-123.tmp": true, "ohgw-123.tmp": false, ".ohgw-123.json": false, "a.json": false} {
		if got := atomicfile.IsTemp(name); got != want {
			t.Errorf("IsTemp(%q) = %v", name, got)
		}
	}
}

func TestMaxModeTakesBitsAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, want fs.FileMode }{{0o644, 0o600}, {0o660, 0o600}, {0o400, 0o400}} {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, "old", tt.old)
		mustWrite(t, path, "new", atomicfile.Options{MaxMode: 0o600})
		if got := mode(t, path); got != tt.want {
			t.Errorf("mode of a file that had %o = %o, want %o", tt.old, got, tt.want)
		}
	}
}

func TestWriteFollowsSymlinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "elsewhere", "real.json")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, real, "old", 0o640)
	link(t, filepath.Join("elsewhere", "real.json"), filepath.Join(dir, "second"))
	link(t, filepath.Join(dir, "second"), filepath.Join(dir, "first"))

	mustWrite(t, filepath.Join(dir, "first"), "new", atomicfile.Options{})
	if got := read(t, real); got != "new" {
		t.Errorf("the target of the links has %q", got)
	}
	if got := mode(t, real); got != 0o640 {
		t.Errorf("mode of the target = %o, want 640", got)
	}
	for _, name := range []string{"first", "second"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v, %v", name, info, err)
		}
	}
}

func TestWriteThroughADanglingLinkMakesItsTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link(t, "target", filepath.Join(dir, "link"))
	mustWrite(t, filepath.Join(dir, "link"), "new", atomicfile.Options{})
	if got := read(t, filepath.Join(dir, "target")); got != "new" {
		t.Errorf("target = %q", got)
	}
}

func TestWriteRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, sub, filepath.Join(dir, "link"))
	for _, path := range []string{sub, filepath.Join(dir, "link")} {
		err := atomicfile.Write(path, []byte("x"), atomicfile.Options{})
		if !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("Write(%s) = %v, want ErrNotRegular", path, err)
		}
	}
	onlyEntries(t, dir, "sub", "link")
}

func TestALoopOfLinksIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link(t, "b", filepath.Join(dir, "a"))
	link(t, "a", filepath.Join(dir, "b"))
	if err := atomicfile.Write(filepath.Join(dir, "a"), nil, atomicfile.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestWriteIntoAMissingDirectorySaysNotExist(t *testing.T) {
	t.Parallel()
	err := atomicfile.Write(filepath.Join(t.TempDir(), "no", "file"), nil, atomicfile.Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want ErrNotExist", err)
	}
}

// A reader beside many writers sees one whole content or the other.
func TestReadersNeverSeeAMixture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 70_000)}
	put(t, path, contents[0], 0o600)

	var writers sync.WaitGroup
	for _, c := range contents {
		writers.Go(func() {
			for range 50 {
				if err := atomicfile.Write(path, []byte(c), atomicfile.Options{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got := read(t, path); got != contents[0] && got != contents[1] {
				t.Errorf("read %d bytes that nobody wrote", len(got))
				return
			}
		}
	})
	writers.Wait()
	close(done)
	reader.Wait()
	onlyEntries(t, dir, "file")
}

func mustWrite(t *testing.T, path, content string, opts atomicfile.Options) {
	t.Helper()
	if err := atomicfile.Write(path, []byte(content), opts); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, content string, m fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), m); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// onlyEntries fails when dir holds anything else, such as a left temporary file.
func onlyEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("entries = %v, want %v", entries, want)
	}
}

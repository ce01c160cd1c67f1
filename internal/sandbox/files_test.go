package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// tree is a directory without links in its path, with a file.
func tree(t *testing.T) (dir, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func confined(t *testing.T, dir string) sandbox.Files {
	t.Helper()
	files, err := sandbox.Confined(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// opener opens files in one way.
type opener func(t *testing.T, dir string) sandbox.Files

// confinedFiles and allFiles are the ways to open files, by name. The contract of
// [sandbox.Files] is the same for all of them.
func confinedFiles() map[string]opener {
	return withBox(map[string]opener{"confined": confined}, true)
}

func allFiles() map[string]opener {
	all := withBox(map[string]opener{"unconfined": func(*testing.T, string) sandbox.Files { return sandbox.Unconfined() }}, false)
	maps.Copy(all, confinedFiles())
	return all
}

// withBox adds the files of a box, if there are boxes here.
func withBox(openers map[string]opener, confined bool) map[string]opener {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		if boxed := inBox(level, confined); boxed != nil {
			openers[fmt.Sprintf("in a box of level %s, confined: %v", level, confined)] = boxed
		}
	}
	return openers
}

func TestFilesReadReplaceAndCreate(t *testing.T) {
	t.Parallel()
	for name, open := range allFiles() {
		dir, file := tree(t)
		files := open(t, dir)
		data, info, err := files.Read(file, 3)
		if err != nil || string(data) != "old" {
			t.Fatalf("%s: file = %q, error %v", name, data, err)
		}
		if _, _, err := files.Read(file, 2); !isSize(err) {
			t.Errorf("%s: too big: %v", name, err)
		}
		if err := files.Replace(file, []byte("new"), info); err != nil || content(t, file) != "new" {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := files.Stat(file); err != nil || now.Mode() != info.Mode() {
			t.Errorf("%s: mode = %v, error %v", name, now.Mode(), err)
		}
		if err := files.Create(file, nil); !errors.Is(err, fs.ErrExist) || content(t, file) != "new" {
			t.Errorf("%s: %v", name, err)
		}
		if err := files.Create(filepath.Join(dir, "other"), []byte("made")); err != nil || content(t, filepath.Join(dir, "other")) != "made" {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := files.List(dir); err != nil || len(list) != 2 {
			t.Errorf("%s: list = %v, error %v", name, list, err)
		}
	}
}

func isSize(err error) bool {
	_, ok := errors.AsType[*sandbox.SizeError](err)
	return ok
}

func TestConfinedFilesRefuseWhatIsOutside(t *testing.T) {
	t.Parallel()
	for name, open := range confinedFiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuseOutside(t, open)
		})
	}
}

func refuseOutside(t *testing.T, open opener) {
	t.Helper()
	dir, _ := tree(t)
	_, outside := tree(t)
	files := open(t, dir)
	_, info, err := sandbox.Unconfined().Read(outside, 10)
	if err != nil {
		t.Fatal(err)
	}
	_, statErr := files.Stat(outside)
	_, _, readErr := files.Read(outside, 10)
	_, listErr := files.List(filepath.Dir(outside))
	for name, err := range map[string]error{
		"stat": statErr, "read": readErr, "list": listErr,
		"replace": files.Replace(outside, []byte("x"), info), "create": files.Create(outside+"2", nil),
	} {
		if !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Skip(err)
	}
	if _, _, err := files.Read(link, 10); err == nil {
		t.Error("a link leads outside")
	}
}

func TestFilesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, open := range allFiles() {
		dir, file := tree(t)
		files := open(t, dir)
		missing := filepath.Join(dir, "missing")
		if real, err := files.Real(missing); real != missing || err != nil {
			t.Errorf("%s: real path = %q, error %v", name, real, err)
		}
		_, realErr := files.Real(filepath.Join(missing, "file"))
		_, statErr := files.Stat(missing)
		_, _, readErr := files.Read(missing, 10)
		_, listErr := files.List(missing)
		for op, err := range map[string]error{"real": realErr, "stat": statErr, "read": readErr, "list": listErr} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s: %v", name, op, err)
			}
		}
		if _, err := files.List(file); err == nil {
			t.Errorf("%s: a file has entries", name)
		}
		link, dangling := filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
		if err := errors.Join(os.Symlink("file", link), os.Symlink(missing, dangling)); err != nil {
			t.Skip(err)
		}
		if real, err := files.Real(link); real != file || err != nil {
			t.Errorf("%s: real path = %q, error %v", name, real, err)
		}
		if _, err := files.Real(dangling); !errors.Is(err, sandbox.ErrDangling) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplaceLeavesTheOtherNamesOfAFile(t *testing.T) {
	t.Parallel()
	for name, open := range allFiles() {
		dir, _ := tree(t)
		_, outside := tree(t)
		link := filepath.Join(dir, "link")
		if err := os.Link(outside, link); err != nil {
			t.Skip(err)
		}
		files := open(t, dir)
		_, info, err := files.Read(link, 10)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := files.Replace(link, []byte("new"), info); err != nil || content(t, link) != "new" || content(t, outside) != "old" {
			t.Errorf("%s: %v; outside: %q", name, err, content(t, outside))
		}
	}
}

// stronger is a box that takes rights away and knows nothing of files.
type stronger struct{ sandbox.Box }

func (stronger) Level() sandbox.Level { return sandbox.Full }

// owner is one that has its own access.
type owner struct {
	stronger

	files sandbox.Files
}

func (o owner) Files(string, bool) (sandbox.Files, error) { return o.files, nil }

func TestFilesOfABoxHaveItsRights(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	_, outside := tree(t)
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	own := sandbox.Unconfined()
	for name, tt := range map[string]struct {
		box      sandbox.Box
		confined bool
		want     bool
	}{
		"off": {box, false, true}, "off, confined": {box, true, false}, "full": {stronger{box}, false, false},
		"its own": {owner{stronger{box}, own}, true, true},
	} {
		files, err := sandbox.FilesOf(tt.box, dir, tt.confined)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Stat(outside); (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		_ = files.Close()
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for _, confined := range []bool{false, true} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s, err := sandbox.StreamsOf(sandbox.Outside(sandbox.Off, sandbox.Mark{}), dir, confined)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, "a", "b", "file")
		if err := s.MakeDir(filepath.Dir(at)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"first", "second"} {
			f, err := s.Put(at)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write([]byte(text))
			if err = errors.Join(err, f.Commit(), f.Abort()); err != nil {
				t.Fatal(err)
			}
		}
		broken, err := s.Put(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(broken.Abort(), broken.Abort()); err != nil {
			t.Error(err)
		}
		f, info, err := s.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 3)
		if _, err := f.ReadAt(data, 3); err != nil || string(data) != "ond" || info.Size() != 6 {
			t.Errorf("data = %q, size %v, error %v", data, info.Size(), err)
		}
		if entries, err := s.List(filepath.Dir(at)); err != nil || len(entries) != 1 {
			t.Errorf("left: %v, %v", entries, err)
		}
		outside := filepath.Join(t.TempDir(), "x")
		if err := s.MakeDir(outside); confined != errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("confined %v, a directory outside: %v", confined, err)
		}
		if err := errors.Join(f.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

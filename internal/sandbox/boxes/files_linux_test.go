package boxes_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// files opens the files of the box.
func (w *world) files(confined bool) sandbox.Files {
	w.t.Helper()
	files, err := sandbox.FilesOf(w.box, w.workspace, confined)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = files.Close() })
	return files
}

// The file editor and a shell of the same box see the same files.
func TestFilesAreThoseOfThePrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world, cfg *boxes.Config) {
		cfg.Policy.Tmp = filepath.Join(w.root, "tmp")
		if err := errors.Join(os.Mkdir(cfg.Policy.Tmp, 0o700), os.WriteFile(filepath.Join(w.home, "secret"), []byte("canary"), 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	files := w.files(false)
	for _, at := range []string{w.workspace + "/file", w.home + "/file", "/tmp/file"} {
		if err := files.Create(at, []byte("made")); err != nil {
			t.Errorf("create %s: %v", at, err)
		}
		if out, code := w.run("cat", at); code != 0 || out != "made" {
			t.Errorf("a program reads %s: %s", at, out)
		}
		if out, code := w.sh("echo -n changed > " + at); code != 0 {
			t.Errorf("a program writes %s: %s", at, out)
		}
		if data, _, err := files.Read(at, 100); string(data) != "changed" || err != nil {
			t.Errorf("read %s: %q, %v", at, data, err)
		}
	}
	for at, real := range map[string]string{"home": filepath.Join(w.own, "file"), "tmp": filepath.Join(w.root, "tmp", "file")} {
		if data, err := os.ReadFile(real); string(data) != "changed" {
			t.Errorf("%s outside: %q, %v", at, data, err)
		}
	}
	if _, err := files.Stat(filepath.Join(w.home, "secret")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the user's home directory is shown: %v", err)
	}
	if err := files.Create("/etc/file", nil); !errors.Is(err, syscall.EROFS) {
		t.Errorf("create in /etc: %v", err)
	}
	if real, err := files.Real("/proc/self/root" + w.workspace + "/file"); err == nil && real != w.workspace+"/file" {
		t.Errorf("a path through /proc is %s", real)
	}
}

func TestFilesThatAreProtectedAreReadOnly(t *testing.T) {
	t.Parallel()
	var config string
	w := newWorld(t, func(w *world, _ *boxes.Config) {
		git := filepath.Join(w.workspace, ".git")
		config = filepath.Join(git, "config")
		for _, dir := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(git, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600), os.WriteFile(config, []byte("[core]\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	files := w.files(true)
	data, info, err := files.Read(config, 100)
	if err != nil || string(data) != "[core]\n" {
		t.Fatal(string(data), err)
	}
	if err := files.Replace(config, []byte("x"), info); !errors.Is(err, syscall.EROFS) {
		t.Errorf("replace: %v", err)
	}
	if err := files.Create(filepath.Join(w.workspace, ".git", "hooks", "x"), nil); err == nil {
		t.Error("a hook was made")
	}
	if left, err := filepath.Glob(filepath.Join(w.workspace, ".git", ".*")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The workspace is known outside by a link, which the box does not show.
func TestFilesOfALinkedWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(w.root, "link")
	if err := os.Symlink(w.workspace, link); err != nil {
		t.Fatal(err)
	}
	files, err := sandbox.FilesOf(w.box, link, true)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := files.Create(filepath.Join(w.workspace, "file"), nil); err != nil {
		t.Error(err)
	}
}

// A new program answers after the first one was ended, or its box.
func TestFilesAfterTheirProgramEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := w.files(false)
	if _, err := files.Stat(w.workspace); err != nil {
		t.Fatal(err)
	}
	if out, code := w.sh("kill -9 $(grep -l [o]hgw-files /proc/[0-9]*/cmdline | grep -o '[0-9]*')"); code != 0 {
		t.Fatal(out)
	}
	_, _ = files.Stat(w.workspace) // It may be asked before its end is known.
	if _, err := files.Stat(w.workspace); err != nil {
		t.Error(err)
	}
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = files.Stat(w.workspace)
	if _, err := files.Stat(w.workspace); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after the end of the box: %v", err)
	}
	if err := errors.Join(files.Close(), files.Close()); err != nil {
		t.Error(err)
	}
	if _, err := files.Stat(w.workspace); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// BenchmarkFilesRead is one file, read with the rights of the box.
func BenchmarkFilesRead(b *testing.B) {
	w := newWorld(b)
	files := w.files(true)
	at := filepath.Join(w.workspace, "file")
	if err := os.WriteFile(at, make([]byte, 64<<10), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := files.Read(at, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilesFirst is the first look at a file in a box that runs.
func BenchmarkFilesFirst(b *testing.B) {
	w := newWorld(b)
	if out, code := w.run("/bin/true"); code != 0 {
		b.Fatal(out)
	}
	for b.Loop() {
		files, err := sandbox.FilesOf(w.box, w.workspace, true)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := files.Stat(w.workspace); err != nil {
			b.Fatal(err)
		}
		_ = files.Close()
	}
}

// Files of any size are read and written in pieces, with the rights of the programs.
func TestStreamsAreThoseOfThePrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	streams, ok := w.files(false).(sandbox.Streams)
	if !ok {
		t.Fatal("there are no streams")
	}
	dir := filepath.Join(w.workspace, "a", "b")
	at := filepath.Join(dir, "file")
	if err := errors.Join(streams.MakeDir(dir), streams.MakeDir(dir)); err != nil {
		t.Fatal(err)
	}
	put := func(pieces ...string) sandbox.Writing {
		f, err := streams.Put(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range pieces {
			if _, err := f.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	big := strings.Repeat("0123456789", 250_000) // more than two pieces
	if err := put(big, "end").Commit(); err != nil {
		t.Fatal(err)
	}
	if out, code := w.sh("chmod 751 " + at + " && wc -c < " + at); code != 0 || strings.TrimSpace(out) != "2500003" {
		t.Errorf("a program reads %s", out)
	}
	broken := put("new")
	if err := errors.Join(broken.Abort(), broken.Abort()); err != nil {
		t.Error(err)
	}
	f, info, err := streams.Open(at)
	if err != nil || info.Size() != 2500003 {
		t.Fatalf("open: %v, %v", info, err)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 5, info.Size()))
	if string(data) != big[5:]+"end" || err != nil {
		t.Errorf("read: %d bytes, %v", len(data), err)
	}
	if err := errors.Join(f.Close(), put("small").Commit()); err != nil {
		t.Error(err)
	}
	if out, _ := w.sh("cat " + at + "; stat -c %a " + at + "; ls -A " + dir); out != "small751\nfile" {
		t.Errorf("after that: %q", out)
	}
	if _, err := streams.Put("/etc/file"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("put into /etc: %v", err)
	}
	if _, err := streams.Put(dir); !errors.Is(err, sandbox.ErrNotRegular) {
		t.Errorf("put a directory: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after the end: %v", err)
	}
}

// What is written when the box ends is not left behind half.
func TestAPutThatTheBoxDoesNotSurvive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	streams := w.files(true).(sandbox.Streams)
	f, err := streams.Put(filepath.Join(w.workspace, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := streams.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("it is still written")
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(w.workspace, ".*file*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

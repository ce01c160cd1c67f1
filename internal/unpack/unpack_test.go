package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/unpack"
)

// entry is one of an archive: a file, a directory (its name ends in /), or a link.
type entry struct{ name, body, link string }

func tarball(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o4755, Size: int64(len(e.body)), Typeflag: tar.TypeReg, Linkname: e.link}
		switch {
		case strings.HasPrefix(e.link, "hard:"):
			h.Typeflag, h.Linkname = tar.TypeLink, strings.TrimPrefix(e.link, "hard:")
		case e.link == "fifo":
			h.Typeflag, h.Linkname = tar.TypeFifo, ""
		case e.link != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := errors.Join(w.WriteHeader(h), write(w, e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(w io.Writer, s string) error { _, err := io.WriteString(w, s); return err }

func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644)
		body := e.body
		switch {
		case e.link != "":
			h.SetMode(fs.ModeSymlink | 0o777)
			body = e.link
		case strings.HasSuffix(e.name, "/"):
			h.SetMode(fs.ModeDir | 0o755)
		}
		w, err := z.CreateHeader(h)
		if err = errors.Join(err, write(w, body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// into unpacks into a directory below an otherwise empty one, and lists all that is
// there afterwards.
func into(t *testing.T, data []byte, limits unpack.Limits) (unpack.Result, []string, error) {
	t.Helper()
	above := t.TempDir()
	got, err := unpack.Into(t.Context(), bytes.NewReader(data), filepath.Join(above, "new"), limits)
	var names []string
	walkErr := filepath.WalkDir(above, func(name string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(above, name); rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if walkErr != nil {
		t.Fatal(walkErr)
	}
	return got, names, err
}

func TestAnArchiveIsUnpacked(t *testing.T) {
	t.Parallel()
	entries := []entry{{name: "./"}, {name: "a/"}, {name: "a/run", body: "x"}, {name: "b/c/d", body: "hello"}, {name: "a/l", link: "../b/c/d"}}
	for name, data := range map[string][]byte{"tar": tarball(t, entries...), "zip": zipped(t, entries...)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, names, err := into(t, data, unpack.Limits{})
			if err != nil || got.Files != 2 || len(got.Skipped) != 0 {
				t.Fatalf("Into() = %+v, %v", got, err)
			}
			if want := "new new/a new/a/l new/a/run new/b new/b/c new/b/c/d"; strings.Join(names, " ") != want {
				t.Errorf("there are %q, want %s", names, want)
			}
		})
	}
}

func TestWhatLeadsOutIsRefusedAndNothingStays(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"../x", "a/../../x", "/etc/x", `..\x`, `C:\x`, "C:x", `\\host\x`, "a/..", "a\x00b"} {
		for kind, data := range map[string][]byte{
			"tar": tarball(t, entry{name: "ok", body: "x"}, entry{name: strings.ReplaceAll(bad, "\x00", "?"), body: "x"}),
			"zip": zipped(t, entry{name: "ok", body: "x"}, entry{name: bad, body: "x"}),
		} {
			if kind == "tar" && strings.Contains(bad, "\x00") {
				continue // tar has no such names
			}
			if _, names, err := into(t, data, unpack.Limits{}); !errors.Is(err, unpack.ErrUnsafe) || len(names) != 0 {
				t.Errorf("%s with %q: %v, left %q", kind, bad, err, names)
			}
		}
	}
}

func TestLinksThatLeadOutAreLeftOut(t *testing.T) {
	t.Parallel()
	got, names, err := into(t, tarball(t,
		entry{name: "abs", link: "/etc/passwd"}, entry{name: "d/up", link: "../../x"}, entry{name: "h", link: "hard:/etc/passwd"},
		entry{name: "h2", link: "hard:gone"}, entry{name: "f", link: "fifo"}, entry{name: "in", body: "x"}, entry{name: "copy", link: "hard:in"},
	), unpack.Limits{})
	if err != nil || len(got.Skipped) != 5 || strings.Join(names, " ") != "new new/copy new/in" {
		t.Errorf("Into() = %+v, %v, left %q", got, err, names)
	}
}

func TestNothingIsWrittenThroughALink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	data := tarball(t, entry{name: "sub", link: "real"}, entry{name: "real", link: outside}, entry{name: "real/x", body: "x"}, entry{name: "sub/y", body: "y"})
	_, names, err := into(t, data, unpack.Limits{})
	if err == nil || len(names) != 0 {
		t.Errorf("err = %v, left %q", err, names)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("it was written outside: %v", left)
	}
}

func TestABombEnds(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 2<<20)
	var many []entry
	for i := range 1001 {
		many = append(many, entry{name: fmt.Sprint(i)})
	}
	if _, _, err := into(t, tarball(t, entry{name: "z", body: zeros}), unpack.Limits{}); err != nil {
		t.Errorf("a small file of zeros: %v", err)
	}
	for name, tt := range map[string]struct {
		data   []byte
		limits unpack.Limits
	}{
		"ratio tar":   {tarball(t, entry{name: "z", body: zeros}), unpack.Limits{RatioFrom: 1 << 20}},
		"ratio zip":   {zipped(t, entry{name: "z", body: zeros}), unpack.Limits{RatioFrom: 1 << 20}},
		"bytes":       {tarball(t, entry{name: "z", body: "12345"}), unpack.Limits{Bytes: 4}},
		"entries tar": {tarball(t, many...), unpack.Limits{Entries: 1000}},
		"entries zip": {zipped(t, many...), unpack.Limits{Entries: 1000}},
	} {
		if _, names, err := into(t, tt.data, tt.limits); !errors.Is(err, unpack.ErrTooLarge) || len(names) != 0 {
			t.Errorf("%s: %v, left %q", name, err, names)
		}
	}
}

func TestABrokenArchiveLeavesNothing(t *testing.T) {
	t.Parallel()
	whole := tarball(t, entry{name: "a", body: "hello"}, entry{name: "b", body: strings.Repeat("abcdefgh", 1000)})
	spoilt := bytes.Clone(whole)
	spoilt[len(spoilt)-6] ^= 1 // the checksum
	zipFile := zipped(t, entry{name: "a", body: "hello"})
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("<html>"), "cut": whole[:len(whole)/2], "checksum": spoilt, "cut zip": zipFile[:len(zipFile)-5],
		"twice": tarball(t, entry{name: "a", body: "1"}, entry{name: "a", body: "2"}),
	} {
		if _, names, err := into(t, data, unpack.Limits{}); !errors.Is(err, unpack.ErrDamaged) || len(names) != 0 {
			t.Errorf("%s: %v, left %q", name, err, names)
		}
	}
}

func TestADirectoryThatIsThereStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := unpack.Into(t.Context(), bytes.NewReader(nil), dir, unpack.Limits{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("Into() = %v", err)
	}
}

package git_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes files below the directory.
func (w *world) put(names ...string) {
	w.t.Helper()
	for _, name := range names {
		at := filepath.Join(w.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("content of "+name), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// archive asks for an archive of the directory.
func (w *world) archive(query string) *httptest.ResponseRecorder {
	w.t.Helper()
	res := httptest.NewRecorder()
	w.api.ServeHTTP(res, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/api/file/archive?path="+w.dir+query, nil))
	return res
}

// unpacked are the names in an archive, and its manifest.
func (w *world) unpacked(res *httptest.ResponseRecorder) (names []string, manifest map[string]any) {
	w.t.Helper()
	if res.Code != http.StatusOK || res.Header().Get("Content-Type") != "application/gzip" {
		w.t.Fatalf("status = %d, want 200, header = %v, body = %s", res.Code, res.Header(), res.Body)
	}
	zipped, err := gzip.NewReader(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	all := tar.NewReader(zipped)
	for {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, manifest
		}
		if err != nil {
			w.t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, filepath.Base(w.dir)+"/")
		data, err := io.ReadAll(all)
		if err != nil {
			w.t.Fatal(err)
		}
		if name == "archive_manifest.json" {
			if err := json.Unmarshal(data, &manifest); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		if h.Typeflag == tar.TypeReg && string(data) != "content of "+name {
			w.t.Errorf("%s has %q", name, data)
		}
		names = append(names, name)
	}
}

func TestArchiveOfADirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.txt", "sub/b.txt", "node_modules/x/y.js", "sub/z.pyc", "build/out", "keep/build", ".git/config", ".git/HEAD")
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(w.dir, "link")), os.Mkdir(filepath.Join(w.dir, "empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
	names, manifest := w.unpacked(w.archive("&format=tar.gz"))
	if diff := cmp.Diff([]string{"", "a.txt", "empty/", "keep/", "keep/build", "sub/", "sub/b.txt"}, names); diff != "" {
		t.Error(diff)
	}
	if manifest["file_count"] != 3.0 || manifest["format"] != "tar.gz" || manifest["source"] != filepath.Base(w.dir) {
		t.Errorf("manifest %v", manifest)
	}
	names, _ = w.unpacked(w.archive("&format=tar.gz&use_default_excludes=false&exclude=sub/*.txt&exclude=build/"))
	want := []string{"", ".git/", ".git/HEAD", "a.txt", "empty/", "keep/", "keep/build", "node_modules/", "node_modules/x/", "node_modules/x/y.js", "sub/", "sub/z.pyc"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// The address of the origin is sent as an agent-server sends it: without what is secret.
func TestTheOriginOfAnArchiveHasNoSecrets(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://user:ghp_word@github.com/a/r.git":                 "https://****@github.com/a/r.git",
		"HTTPS://user:ghp_word@github.com/a/r.git":                 "HTTPS://****@github.com/a/r.git",
		"https://ghp_word@github.com/a/r.git\nmore":                "https://****@github.com/a/r.git\nmore",
		"https://github.com/a/r.git?access_token=ghp_word&depth=1": "https://github.com/a/r.git?access_token=%3Credacted%3E&depth=1",
		"ssh://user:ghp_word@github.com/a/r.git":                   "ssh://****@github.com/a/r.git",
		"ssh://git@github.com/a/r.git":                             "ssh://git@github.com/a/r.git",
		"git@github.com:a/r.git":                                   "git@github.com:a/r.git",
		"https://github.com/a/b%2Fr.git":                           "https://github.com/a/b%2Fr.git",
	} {
		w := newWorld(t)
		w.run("init", "-q", "-b", "main")
		w.run("config", "remote.origin.url", origin)
		got := w.archive("&format=tar.gz").Header().Get("X-Archive-Repo-Remote")
		if plain, err := url.PathUnescape(got); err != nil || plain != want {
			t.Errorf("%q: %q (%v), want %q", origin, got, err, want)
		}
	}
}

func TestArchiveOfChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("init", "-q", "-b", "main")
	w.put("a.txt", "gone.txt", "node_modules/in")
	w.run("add", "-A", "-f")
	w.run("commit", "-qm", "first")
	w.run("remote", "add", "origin", "https://user:secret-word@example.com/r.git?token=secret-word")
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "gone.txt")), os.WriteFile(filepath.Join(w.dir, "a.txt"), []byte("changed\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.put("new.bin", "node_modules/new")
	before := w.run("status", "--porcelain")
	res := w.archive("")
	if res.Code != http.StatusOK || res.Header().Get("Content-Type") != "text/x-patch" {
		t.Fatalf("status = %d, want 200, header = %v, body = %s", res.Code, res.Header(), res.Body)
	}
	if after := w.run("status", "--porcelain"); before != after {
		t.Errorf("the index has changed: %s", after)
	}
	head := strings.TrimSpace(w.run("rev-parse", "HEAD"))
	h := res.Header()
	if h.Get("X-Archive-Base-Commit") != head || h.Get("X-Archive-Base-Ref") != "auto" || h.Get("X-Archive-Head-Commit") != head ||
		h.Get("X-Archive-Branch") != "main" || strings.Contains(h.Get("X-Archive-Repo-Remote"), "secret-word") {
		t.Errorf("headers %v", h)
	}
	patch := res.Body.String()
	if strings.Contains(patch, "node_modules") {
		t.Errorf("the patch has what is excluded: %s", patch)
	}
	w.run("stash", "-qu")
	apply := exec.CommandContext(t.Context(), "git", "apply", "-")
	apply.Dir, apply.Stdin = w.dir, strings.NewReader(patch)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("the patch does not apply: %v %s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "new.bin")); err != nil || string(data) != "content of new.bin" {
		t.Errorf("new.bin: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "gone.txt")); err == nil {
		t.Error("gone.txt is there")
	}
}

// A conversation that began in a directory above its repository has that archived.
func TestArchiveOfTheOneRepositoryBelow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("group/repo/a.txt", "node_modules/r/.git/HEAD")
	w.run("init", "-q", "group/repo")
	res := w.archive("&format=git-delta")
	if res.Code != http.StatusOK || !strings.Contains(res.Body.String(), "a.txt") || !strings.HasSuffix(res.Header().Get("X-Archive-Repo-Root"), "repo") {
		t.Errorf("status = %d, want 200, header = %v, body = %s", res.Code, res.Header(), res.Body)
	}
	if got := res.Header().Get("Content-Disposition"); got != `attachment; filename="repo.patch"` {
		t.Error(got)
	}
}

func TestArchivesThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("file")
	for query, want := range map[string]int{
		"/nothing":             http.StatusNotFound,
		"/file":                http.StatusBadRequest,
		"":                     http.StatusBadRequest, // no repository
		"&format=rar":          http.StatusUnprocessableEntity,
		"&base_ref=-x":         http.StatusBadRequest,
		"&format=tar.gz&path=": http.StatusOK, // the first one counts
	} {
		if res := w.archive(query); res.Code != want {
			t.Errorf("%q: status = %d, body = %s, want %d", query, res.Code, res.Body, want)
		} else if res.Code != http.StatusOK && res.Header().Get("Content-Disposition") != "" {
			t.Errorf("%q: an error as a file", query)
		}
	}
	w.run("init", "-q", "-b", "main")
	if res := w.archive("&base_ref=nothing"); res.Code != http.StatusBadRequest {
		t.Errorf("an unknown base: %d %s", res.Code, res.Body)
	}
}

package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/files"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// boxes shows one directory, and nothing outside of it.
type boxes struct{ dir string }

func (b boxes) Files(_ context.Context, path string) (sandbox.Streams, string, func(), error) {
	s, err := sandbox.StreamsOf(sandbox.Outside(sandbox.Off, sandbox.Mark{}), b.dir, true)
	return s, path, func() { _ = s.Close() }, err
}

func (b boxes) Below(_ context.Context, dir string) (sandbox.Streams, string, func(), error) {
	s, err := sandbox.StreamsOf(sandbox.Outside(sandbox.Off, sandbox.Mark{}), dir, true)
	return s, dir, func() { _ = s.Close() }, err
}

func (b boxes) MakeDir(ctx context.Context, path string) error {
	s, at, release, err := b.Files(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	return s.MakeDir(at)
}

// world has a directory with files, and the API over it.
type world struct {
	t   *testing.T
	dir string
	api http.Handler
}

const conversation = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	routes := files.Routes(files.Config{
		Boxes: boxes{dir}, Home: dir, Workspace: func(context.Context, string) (string, error) { return filepath.Join(dir, "ws"), nil },
	})
	return &world{t, dir, openhandsapi.New(openhandsapi.Config{Routes: routes})}
}

func (w *world) do(method, path string, body io.Reader, kind string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, body)
	r.Header.Set("Content-Type", kind)
	res := httptest.NewRecorder()
	w.api.ServeHTTP(res, r)
	return res
}

func (w *world) at(name string) string { return url.QueryEscape(filepath.Join(w.dir, name)) }

// form is a form with a file.
func form(t *testing.T, field, content string) (body *bytes.Buffer, kind string) {
	t.Helper()
	body = &bytes.Buffer{}
	m := multipart.NewWriter(body)
	part, err := m.CreateFormFile(field, "name")
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err = errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	return body, m.FormDataContentType()
}

func (w *world) upload(query, content string) *httptest.ResponseRecorder {
	w.t.Helper()
	body, kind := form(w.t, "file", content)
	return w.do(http.MethodPost, "/api/file/upload?"+query, body, kind)
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "old")
	content := strings.Repeat("0123456789", 100_000)
	for _, name := range []string{"new/dir/file", "old", "with space é"} {
		if res := w.upload("path="+w.at(name), content); res.Code != http.StatusOK || res.Body.String() != `{"success":true}` {
			t.Fatalf("upload %s: %d %s", name, res.Code, res.Body)
		}
		res := w.do(http.MethodGet, "/api/file/download?path="+w.at(name), nil, "")
		if res.Code != http.StatusOK || res.Body.String() != content || res.Header().Get("Content-Type") != "application/octet-stream" {
			t.Errorf("download %s: %d, %d bytes", name, res.Code, res.Body.Len())
		}
	}
	if info, err := os.Stat(filepath.Join(w.dir, "old")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of what was there: %v, %v", info.Mode(), err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/file/download?path="+w.at("old"), nil)
	r.Header.Set("Range", "bytes=999998-")
	res := httptest.NewRecorder()
	if w.api.ServeHTTP(res, r); res.Code != http.StatusPartialContent || res.Body.String() != "89" {
		t.Errorf("a part: %d %q", res.Code, res.Body)
	}
	if got := w.do(http.MethodGet, "/api/file/download?path="+w.at("with space é"), nil, "").Header().Get("Content-Disposition"); got != "attachment; filename*=utf-8''with%20space%20%C3%A9" {
		t.Errorf("a name: %s", got)
	}
}

func TestAnUploadThatBreaksLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "old")
	whole, kind := form(t, "file", strings.Repeat("x", 1<<20))
	for _, cut := range []int{whole.Len() / 2, whole.Len() - 5} {
		for _, name := range []string{"new", "old"} {
			res := w.do(http.MethodPost, "/api/file/upload?path="+w.at(name), bytes.NewReader(whole.Bytes()[:cut]), kind)
			if res.Code != http.StatusBadRequest {
				t.Errorf("%s: status = %d, want 400, body = %s", name, res.Code, res.Body)
			}
		}
	}
	left, err := os.ReadDir(w.dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("left: %v, %v", left, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "old")); err != nil || string(data) != "old" {
		t.Errorf("what was there has %d bytes: %v", len(data), err)
	}
}

func TestUploadsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "file", "sub/x")
	other, kind := form(t, "other", "x")
	if res := w.do(http.MethodPost, "/api/file/upload?path="+w.at("x"), other, kind); res.Code != 422 || !strings.Contains(res.Body.String(), `"loc":["body","file"],"msg":"Field required"`) {
		t.Errorf("another field: %d %s", res.Code, res.Body)
	}
	if res := w.do(http.MethodPost, "/api/file/upload?path="+w.at("x"), strings.NewReader("{}"), "application/json"); res.Code != 422 {
		t.Errorf("no form: %d %s", res.Code, res.Body)
	}
	for query, want := range map[string]int{
		"": 422, "path=relative": 400, "path=" + w.at("sub"): 400, "path=" + w.at("file/below"): 400, "path=" + w.at("a\x00b"): 400,
		"path=" + w.at("../outside"): 403, "path=" + w.at(strings.Repeat("a", 5000)): 400,
	} {
		if res := w.upload(query, "x"); res.Code != want {
			t.Errorf("%.50s: status = %d, body = %s, want %d", query, res.Code, res.Body, want)
		}
	}
}

func TestDownloadsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "file")
	for query, want := range map[string]string{
		"path=" + w.at("none"): `{"detail":"File not found"}`, "path=" + w.at(""): `{"detail":"Path is not a file"}`,
		"path=relative": `{"detail":"Path must be absolute"}`, "path=" + w.at("a\x00"): `{"detail":"Path is not valid"}`,
	} {
		if res := w.do(http.MethodGet, "/api/file/download?"+query, nil, ""); res.Body.String() != want || res.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s: status = %d, body = %s, want %s", query, res.Code, res.Body, want)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "B/x", "a/x", ".hidden/x", "file")
	for _, name := range []string{"c/d", "c/d"} {
		if res := w.do(http.MethodPost, "/api/file/create_directory?path="+w.at(name), nil, ""); res.Code != http.StatusOK {
			t.Errorf("make %s: %d %s", name, res.Code, res.Body)
		}
	}
	if res := w.do(http.MethodPost, "/api/file/create_directory?path="+w.at("file"), nil, ""); res.Code != 400 || res.Body.String() != `{"detail":"Path exists and is not a directory"}` {
		t.Errorf("over a file: %d %s", res.Code, res.Body)
	}
	names := func(query string) string {
		return w.do(http.MethodGet, "/api/file/search_subdirs?path="+w.at("")+query, nil, "").Body.String()
	}
	if got := names("&limit=2"); !strings.Contains(got, `"name":"a"`) || !strings.Contains(got, `"name":"B"`) || !strings.HasSuffix(got, `"next_page_id":"c"}`) {
		t.Errorf("the first page: %s", got)
	}
	if got := names("&page_id=c&include_hidden=1"); strings.Count(got, `"name"`) != 1 || !strings.HasSuffix(got, `"next_page_id":null}`) {
		t.Errorf("the second page: %s", got)
	}
	if got := names("&include_hidden=true"); strings.Count(got, `"name"`) != 4 {
		t.Errorf("with hidden ones: %s", got)
	}
	for name, want := range map[string]int{"none": 404, "file": 400} {
		if res := w.do(http.MethodGet, "/api/file/search_subdirs?path="+w.at(name), nil, ""); res.Code != want {
			t.Errorf("%s: status = %d, want %d", name, res.Code, want)
		}
	}
	if got := w.do(http.MethodGet, "/api/file/home", nil, "").Body.String(); strings.Count(got, `"label"`) != 4 || strings.Contains(got, "hidden") {
		t.Errorf("home: %s", got)
	}
}

func TestPagesStayInsideOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "secret", "ws/index.html", "ws/a b.css", "ws/sub/x", "ws/data.unknown")
	for _, link := range [][2]string{{"../secret", "ws/out"}, {"..", "ws/up"}, {"index.html", "ws/in.html"}, {"nothing", "ws/dangling"}} {
		if err := os.Symlink(link[0], filepath.Join(w.dir, link[1])); err != nil {
			t.Skip(err)
		}
	}
	const base = "/api/conversations/" + conversation + "/workspace"
	for path, want := range map[string]string{
		"": "200 ws/index.html", "/": "200 ws/index.html", "/index.html": "200 ws/index.html", "/a%20b.css": "200 ws/a b.css", "/in.html": "200 ws/index.html",
		"/data.unknown": "200 ws/data.unknown", "/none": `404 {"detail":"File not found"}`, "/sub": `404 {"detail":"No index.html in directory"}`,
		"/dangling": `404 {"detail":"File not found"}`, "/out": `400 {"detail":"Path is outside the workspace"}`, "/up/secret": `400 {"detail":"Path is outside the workspace"}`,
		"/%2e%2e%2fsecret": "", "/..%2f..%2fsecret": "", "/a%00b": `400 {"detail":"Path is outside the workspace"}`, "//etc/passwd": "",
	} {
		res := w.do(http.MethodGet, base+path, nil, "")
		if got := strconv.Itoa(res.Code) + " " + res.Body.String(); want != "" && got != want || strings.Contains(got, "200 secret") || strings.Contains(got, "root:") {
			t.Errorf("%s: answer = %s, want %s", path, got, want)
		}
		if res.Code == http.StatusOK && !strings.HasPrefix(res.Header().Get("Content-Security-Policy"), "sandbox ") {
			t.Errorf("%s has the origin of ohgw", path)
		}
	}
	if res := w.do(http.MethodGet, base+"/a%20b.css", nil, ""); !strings.HasPrefix(res.Header().Get("Content-Type"), "text/css") {
		t.Errorf("kind: %s", res.Header())
	}
	if res := w.do(http.MethodGet, "/api/conversations/x/workspace", nil, ""); res.Code != http.StatusUnprocessableEntity {
		t.Errorf("no id: %d", res.Code)
	}
}

// No path leads to what is beside the directory.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"/../secret", "/ws/../../secret", "/ws//..//..//secret", "/./../secret\x00", `\..\secret`, "/link/secret", "/file:stream", "/CON", "/out/../out/secret"} {
		f.Add(seed)
	}
	outer := f.TempDir()
	inner := filepath.Join(outer, "inner")
	if err := errors.Join(os.MkdirAll(filepath.Join(inner, "ws"), 0o755), os.WriteFile(filepath.Join(outer, "secret"), []byte("canary"), 0o600)); err != nil {
		f.Fatal(err)
	}
	_ = os.Symlink("..", filepath.Join(inner, "out"))          // Windows may forbid it
	_ = os.Symlink(outer, filepath.Join(inner, "ws", "outer")) // the same
	api := openhandsapi.New(openhandsapi.Config{Routes: files.Routes(files.Config{
		Boxes: boxes{inner}, Home: inner, Only: inner, Workspace: func(context.Context, string) (string, error) { return filepath.Join(inner, "ws"), nil },
	})})
	f.Fuzz(func(t *testing.T, path string) {
		for _, target := range []string{
			"/api/file/download?path=" + url.QueryEscape(inner+path), "/api/file/search_subdirs?path=" + url.QueryEscape(inner+path),
			"/api/conversations/" + conversation + "/workspace/" + url.PathEscape(path),
		} {
			res := httptest.NewRecorder()
			api.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
			if strings.Contains(res.Body.String(), "canary") || res.Code == http.StatusOK && strings.Contains(res.Body.String(), `"name":"inner"`) {
				t.Errorf("%s: status = %d, body = %s", target, res.Code, res.Body)
			}
		}
	})
}

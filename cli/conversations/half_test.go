package conversations

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

const packedID = "abcdef00333344445555666677778888"

// packer is a server with one conversation, whose archive is content. It cuts the
// transfer after so many bytes, if that is not 0.
type packer struct {
	*httptest.Server

	mu      sync.Mutex
	content []byte
	cut     int
	etag    string // "" and it knows no ranges
	ranges  []string
}

func newPacker(t *testing.T, size int) *packer {
	t.Helper()
	p := &packer{content: bytes.Repeat([]byte("\x1f\x8b0123456789abcdef"), size/18+1)[:size], etag: `"first"`}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.Close)
	return p
}

func (p *packer) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.URL.Path {
	case "/api/v1/web-client/config":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"app_mode":"oss"}`))
	case "/api/v1/app-conversations/count":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`1`))
	case "/api/v1/app-conversations":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[{"id":%q,"sandbox_id":"b","sandbox_status":"RUNNING","session_api_key":"k","conversation_url":"%s/api/conversations/x","tags":{"archiveworkspacepath":"/w"}}]`, packedID, p.URL)
	case "/api/file/archive", "/api/file/download":
		p.ranges = append(p.ranges, r.Header.Get("Range"))
		out := w
		if p.cut > 0 {
			out = &cutWriter{w, p.cut}
		}
		w.Header().Set("Content-Type", "application/gzip")
		if p.etag == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(p.content)))
			_, _ = out.Write(p.content)
			return
		}
		w.Header().Set("ETag", p.etag)
		http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(p.content))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"detail":"Not Found"}`))
	}
}

// cutWriter breaks the connection after so many bytes.
type cutWriter struct {
	http.ResponseWriter

	left int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left > 0 {
		return w.ResponseWriter.Write(b)
	}
	_, _ = w.ResponseWriter.Write(b[:len(b)+w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// set changes how the server answers.
func (p *packer) set(cut int, etag string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.etag = cut, etag
}

// download runs the command in dir.
func (p *packer) download(t *testing.T, dir string, o downloadOptions) (said string, err error) {
	t.Helper()
	app := clitest.New(t, map[string]string{"OHGW_CLOUD_URL": p.URL, "OHGW_CLOUD_API_KEY": "key"})
	o.oneOptions = oneOptions{place: &place{App: app.App}, ID: packedID}
	if len(o.Paths) > 0 {
		o.Output = dir
		err = runDownloadFiles(t.Context(), &o)
	} else {
		o.Output = filepath.Join(dir, "all.tar.gz")
		err = runDownloadWorkspace(t.Context(), &o)
	}
	return app.Err.String() + app.Out.String(), err
}

// names are the files of a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func (p *packer) wantWhole(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || sha256.Sum256(got) != sha256.Sum256(p.content) {
		t.Errorf("%s has %d bytes, %v, want the %d of the server", path, len(got), err, len(p.content))
	}
	if list := names(t, filepath.Dir(path)); len(list) != 1 {
		t.Errorf("the directory has %q", list)
	}
}

func TestADownloadThatWasCutIsContinued(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{nil, {"all.tar.gz"}} {
		p, dir := newPacker(t, 3<<20), t.TempDir()
		p.set(1<<20, `"first"`)
		_, err := p.download(t, dir, downloadOptions{Paths: paths})
		if fault.CodeOf(err) != fault.Unreachable || !strings.Contains(err.Error(), "was cut after ") {
			t.Errorf("a transfer that is cut: %v", err)
		}
		if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Hint, "--continue") {
			t.Errorf("no hint to continue: %+v", f)
		}
		if list := names(t, dir); len(list) != 1 || !strings.HasPrefix(list[0], "all.tar.gz.part-") {
			t.Fatalf("the directory has %q", list)
		}
		p.set(1<<20, `"first"`) // and cut again
		if _, err := p.download(t, dir, downloadOptions{Paths: paths, Continue: true}); fault.CodeOf(err) != fault.Unreachable {
			t.Errorf("cut again: %v", err)
		}
		p.set(0, `"first"`)
		if _, err := p.download(t, dir, downloadOptions{Paths: paths, Continue: true}); err != nil {
			t.Fatal(err)
		}
		p.wantWhole(t, filepath.Join(dir, "all.tar.gz"))
		if len(p.ranges) != 3 || p.ranges[0] != "" || !strings.HasPrefix(p.ranges[1], "bytes=") || p.ranges[1] == p.ranges[2] {
			t.Errorf("the server was asked for %q", p.ranges)
		}
	}
}

func TestADownloadThatCannotBeContinuedBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]string{"another content": `"second"`, "no ranges": "", "a weak tag": `W/"first"`} {
		p, dir := newPacker(t, 1<<20), t.TempDir()
		p.set(1<<19, `"first"`)
		if _, err := p.download(t, dir, downloadOptions{}); err == nil {
			t.Fatal("the transfer was not cut")
		}
		p.set(0, later)
		said, err := p.download(t, dir, downloadOptions{Continue: true})
		if err != nil || !strings.Contains(said, "it begins again") {
			t.Errorf("%s: %v, said %q", name, err, said)
		}
		p.wantWhole(t, filepath.Join(dir, "all.tar.gz"))
	}
}

func TestATransferWithoutATagLeavesNothing(t *testing.T) {
	t.Parallel()
	p, dir := newPacker(t, 1<<20), t.TempDir()
	p.set(1<<19, "")
	if _, err := p.download(t, dir, downloadOptions{}); fault.CodeOf(err) != fault.Unreachable {
		t.Errorf("a transfer that is cut: %v", err)
	}
	if list := names(t, dir); len(list) != 0 {
		t.Errorf("the directory has %q", list)
	}
}

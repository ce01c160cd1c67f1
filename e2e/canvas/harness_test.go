//go:build e2e_canvas

package canvas_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/browsertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// patience bounds the start of ohgw.
const patience = 2 * time.Minute

const (
	gatewayKey = "sk-gateway-canvas-0123456789"
	storedKey  = "sk-llm-stored-0123456789"
)

// world is the canvas with everything behind it.
type world struct {
	llm     *llmtest.Server
	home    string
	gateway string // URL
	browser *browsertest.Browser
}

// newWorld starts an LLM, ohgw, a server of the canvas's pages, and a browser.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{llm: llmtest.New(t), home: t.TempDir()}
	pages := strings.Replace(servePages(t), "127.0.0.1", "localhost", 1)
	w.gateway = w.serve(t, pages)
	screenshots := os.Getenv("OHGW_TEST_SCREENSHOTS")
	if screenshots != "" {
		if err := os.MkdirAll(screenshots, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.browser = browsertest.Start(t, "browser.mjs", pages, screenshots)
	t.Cleanup(func() {
		if t.Failed() {
			w.quiet(t) // what the page said before it failed
		}
	})
	return w
}

// servePages serves the canvas as docs/native.md does: a path that is not a file is one
// that its index page knows.
func servePages(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("node_modules", "@openhands", "agent-canvas", "build")
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Fatalf("looking for the agent canvas: %v; run scripts/e2e-canvas", err)
	}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err != nil || info.IsDir() {
			r.URL.Path = "/"
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// program builds ohgw, once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ohgw-canvas-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ohgw")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/ohgw").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // the system cleans what is left
	}
	os.Exit(code)
}

// serve starts `ohgw serve --native` with one LLM profile, whose key is in ohgw's store and
// nowhere else.
func (w *world) serve(t *testing.T, origin string) string {
	t.Helper()
	ohgw, err := program()
	if err != nil {
		t.Fatal(err)
	}
	address := processtest.FreeAddress(t)
	profiles, runtime := filepath.Join(w.home, ".openhands", "profiles"), filepath.Join(w.home, "run")
	for _, dir := range []string{profiles, runtime} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	profile := fmt.Sprintf(`{"model":"openai/scripted","base_url":%q,"num_retries":0}`, w.llm.URL)
	if err := os.WriteFile(filepath.Join(profiles, "scripted.json"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "XDG_STATE_HOME=" + filepath.Join(w.home, "state"),
		"XDG_RUNTIME_DIR=" + runtime, "OHGW_API_KEYS=" + gatewayKey,
	}
	keys := exec.Command(ohgw, "keys", "set", "scripted", "--key-store", "file")
	keys.Env, keys.Stdin = env, strings.NewReader(storedKey)
	if out, err := keys.CombinedOutput(); err != nil {
		t.Fatalf("ohgw keys set: %v\n%s", err, out)
	}
	cmd := exec.Command(ohgw, "serve", "--native", "--addr", address, "--allow-origin", origin, "--backend", "embedded", "--key-store", "file")
	cmd.Env, cmd.Dir = env, w.home
	server, err := processtest.Start(cmd, filepath.Join(w.home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.End(syscall.SIGTERM, patience); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the last words of ohgw:\n%s", server.Tail())
		}
	})
	_, port, _ := strings.Cut(address, ":")
	url := "http://localhost:" + port
	if err := server.Await(t.Context(), url+"/readyz", patience); err != nil {
		t.Fatal(err)
	}
	return url
}

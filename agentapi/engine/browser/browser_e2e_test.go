//go:build e2e && linux

package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// site is a site with a login, a form and a file.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("who"); err == nil {
			_, _ = io.WriteString(w, `<title>In</title><h1>Hello `+c.Value+`</h1><a href="/file">Get the report</a>`)
			return
		}
		_, _ = io.WriteString(w, `<title>Login</title><form method=post action=/login><label for=n>Your name</label><input id=n name=n>`+
			`<input type=password name=p placeholder=Password><select name=c><option>red<option>blue</select><button>Log in</button></form>`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("p") != "secret" || r.PostFormValue("c") != "blue" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.PostFormValue("n")})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
		if c, err := r.Cookie("who"); err == nil {
			_, _ = io.WriteString(w, c.Value+"\n")
		}
	})
	mux.HandleFunc("GET /dialog", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<title>D</title><script>alert("stop here")</script><p>after</p>`)
	})
	mux.HandleFunc("GET /form", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<title>Form</title><form method=post action=/upload enctype=multipart/form-data>`+
			`<input type=file name=f aria-label="Your file"><button>Send</button></form><a href="/" target=_blank>Elsewhere</a>`)
	})
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		file, header, err := r.FormFile("f")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		data, err := io.ReadAll(file)
		_, _ = fmt.Fprintf(w, "<title>Sent</title><p>%s has %q", header.Filename, data)
		if err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// proxy passes on to one server, and refuses the rest.
func proxy(t *testing.T, only string) func(int) (string, func() error, error) {
	t.Helper()
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != only {
			http.Error(w, "refused by the test", http.StatusForbidden)
			return
		}
		r.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(p.Close)
	return func(int) (string, func() error, error) {
		return p.Listener.Addr().String(), func() error { return nil }, nil
	}
}

// chromium is the path of a real browser. Without one the test is skipped; with CI that is a
// failure.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := browser.Find("", os.Environ(), "")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

func pool(t *testing.T) (*browser.Pool, string) {
	t.Helper()
	path, root := chromium(t), t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o711); err != nil { // Chromium of root has another user's rights
		t.Fatal(err)
	}
	dir, tmp := filepath.Join(root, "state"), filepath.Join(root, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil { // Chromium of root has another user's rights
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	p := browser.NewPool(browser.Config{Find: func() (string, error) { return path, nil }, Dir: dir, Mark: sandbox.Mark{State: root, Conversation: "browser"}})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for _, at := range []string{dir, tmp} {
			if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
				t.Errorf("files left behind: %v, %v", left, err)
			}
		}
		if pids := running(t, root); len(pids) > 0 {
			t.Errorf("processes are left: %v", pids)
		}
	})
	return p, root
}

// running are the processes of the Chromium below a directory.
func running(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "pgrep", "-f", "user-data-dir="+dir+"/").Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func open(t *testing.T, p *browser.Pool, only string) (*browser.Session, string) {
	t.Helper()
	dir := t.TempDir()
	s := p.Open(browser.SessionConfig{
		Proxy: proxy(t, only),
		Load:  func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, path)) },
		Save: func(name string, file io.Reader) (string, error) {
			data, err := io.ReadAll(file)
			path := filepath.Join(dir, name)
			return path, errors.Join(err, os.WriteFile(path, data, 0o600))
		},
	})
	t.Cleanup(func() { _ = s.Close() })
	return s, dir
}

// index is that of an element in a state, by what is in its text or placeholder.
func index(t *testing.T, state, text string) int {
	t.Helper()
	found := pattern.Of(`"index": (\d+),\s+"tag": "[a-z]+",\s+"text": "([^"]*)"(?:,\s+"placeholder": "([^"]*)")?`)().FindAllStringSubmatch(state, -1)
	for i, m := range found {
		if strings.Contains(m[2]+m[3], text) {
			return i
		}
	}
	t.Fatalf("no element %q in\n%s", text, state)
	return 0
}

func must(t *testing.T) func(string, error) string {
	t.Helper()
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

func TestChromiumLogsInAndDownloads(t *testing.T) {
	server := site(t)
	p, dir := pool(t)
	s, saved := open(t, p, server.Listener.Addr().String())
	ctx, do := t.Context(), must(t)
	if got := do(s.Navigate(ctx, server.URL, false)); got != "Navigated to: "+server.URL+"\nPage title: Login" {
		t.Errorf("navigate: %q", got)
	}
	state, _, err := s.State(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := do(s.Type(ctx, index(t, state, "Your name"), "Ada")); !strings.HasPrefix(got, "Typed 'Ada' into element ") {
		t.Errorf("type: %q", got)
	}
	do(s.Type(ctx, index(t, state, "Password"), "secret"))
	do(s.Type(ctx, index(t, state, "red | blue"), "blue"))
	do(s.Click(ctx, index(t, state, "Log in"), false))
	state, picture, err := s.State(ctx, true)
	if err != nil || !strings.Contains(state, `"title": "In"`) || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Fatalf("after the login: %v\n%s", err, state)
	}
	if got := do(s.Content(ctx, false, 0)); !strings.Contains(got, "# Hello Ada") {
		t.Errorf("content: %s", got)
	}
	if got := do(s.Click(ctx, index(t, state, "report"), false)); !strings.Contains(got, "Downloaded "+filepath.Join(saved, "report.csv")+" (4 bytes)") {
		t.Errorf("download: %q", got)
	}
	if got := do(s.Storage(ctx)); !strings.Contains(got, `"value": "Ada"`) {
		t.Errorf("storage: %s", got)
	}
	if got := do(s.Navigate(ctx, server.URL+"/dialog", false)); !strings.Contains(got, "stop here") {
		t.Errorf("dialog: %q", got)
	}
	for _, address := range []string{"file:///etc/passwd", "chrome://version", "view-source:" + server.URL, "javascript:1"} {
		if got, err := s.Navigate(ctx, address, false); err == nil {
			t.Errorf("page of %s: %s", address, got)
		}
	}
	// Another server of this machine is the proxy's to refuse: nothing goes round it.
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was not asked") }))
	t.Cleanup(other.Close)
	do(s.Navigate(ctx, other.URL, false))
	if got := do(s.Content(ctx, false, 0)); !strings.Contains(got, "refused by the test") {
		t.Errorf("refused: %s", got)
	}
	limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Navigate(limited, server.URL+"/hang", false); err == nil || time.Since(began) > time.Minute {
		t.Errorf("interrupted after %s: %v", time.Since(began), err)
	}
	kill(t, dir)
	if _, err := s.Tabs(ctx); err == nil || !strings.Contains(err.Error(), "ended unexpectedly") {
		t.Errorf("after kill -9: %v", err)
	}
	do(s.Navigate(ctx, server.URL, false))
	files(t, s, server)
	again, _ := open(t, p, server.Listener.Addr().String())
	if got := do(again.Navigate(ctx, server.URL, true)); !strings.Contains(got, "new tab") {
		t.Errorf("another conversation: %q", got)
	}
}

// files uploads a file that was downloaded, and goes from tab to tab.
func files(t *testing.T, s *browser.Session, server *httptest.Server) {
	t.Helper()
	ctx, do := t.Context(), must(t)
	do(s.Navigate(ctx, server.URL+"/form", false))
	state, _, err := s.State(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	field := index(t, state, "Your file")
	if text, err := s.Type(ctx, field, "none.csv"); err == nil {
		t.Errorf("upload of a file that is not there: %q", text)
	}
	do(s.Type(ctx, field, "report.csv"))
	elsewhere := index(t, state, "Elsewhere")
	if text := do(s.Click(ctx, elsewhere, true)); !strings.HasPrefix(text, fmt.Sprintf("Clicked element %d and opened in new tab", elsewhere)) {
		t.Errorf("click for a new tab: %q", text)
	}
	tabs := pattern.Of(`"tab_id": "(....)",\s+"url": "[^"]*",\s+"title": "([^"]*)"`)().FindAllStringSubmatch(do(s.Tabs(ctx)), -1)
	if len(tabs) != 2 || tabs[0][2] != "Form" {
		t.Fatalf("tabs %q", tabs)
	}
	if text := do(s.CloseTab(ctx, tabs[1][1])); text != "Closed tab # "+tabs[1][1]+", now on "+server.URL+"/form\nPage title: Form" {
		t.Errorf("close: %q", text)
	}
	if text := do(s.SwitchTab(ctx, tabs[0][1])); text != "Switched to tab "+tabs[0][1]+": "+server.URL+"/form\nPage title: Form" {
		t.Errorf("switch: %q", text)
	}
	do(s.Click(ctx, index(t, state, "Send"), false))
	if text := do(s.Content(ctx, false, 0)); !strings.Contains(text, `report.csv has "Ada\n"`) {
		t.Errorf("sent: %s", text)
	}
	if text := do(s.Back(ctx)); text != "Navigated back\nPage title: Form" {
		t.Errorf("back: %q", text)
	}
	do(s.Scroll(ctx, false))
	if text := do(s.Tabs(ctx)); !strings.Contains(text, `"title": "Form"`) {
		t.Errorf("back: %s", text)
	}
}

// mains are the processes that have started the others of a Chromium.
func mains(t *testing.T, dir string) (pids []string) {
	t.Helper()
	for _, pid := range running(t, dir) {
		data, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err == nil && !strings.Contains(string(data), "--type=") && !strings.Contains(string(data), "crashpad") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends Chromium as a crash does.
func kill(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range mains(t, dir) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	waittest.Until(t, time.Minute, "the end of Chromium", func() (any, bool) {
		left := mains(t, dir)
		return left, len(left) == 0
	})
}

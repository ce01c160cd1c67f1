//go:build e2e && linux

package engine_test

import (
	"context"
	"encoding/json"
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

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	tools "github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// withBrowser gives agents a real Chromium, whose network is the test itself: every
// address is the same page, or the file notes.txt.
func withBrowser(t *testing.T) (change func(*engine.Config), dir string) {
	t.Helper()
	path, err := browser.Find("", os.Environ(), "")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/notes.txt" {
			w.Header().Set("Content-Disposition", "attachment")
			_, _ = io.WriteString(w, "notes\n")
			return
		}
		_, _ = io.WriteString(w, `<title>Shop</title><h1>Open today</h1><a href=/notes.txt>Notes</a>`)
	}))
	t.Cleanup(site.Close)
	dir = t.TempDir()
	pool := browser.NewPool(browser.Config{Find: func() (string, error) { return path, nil }, Dir: dir})
	t.Cleanup(func() { _ = pool.Close() })
	return func(c *engine.Config) {
		c.NewTools = toolset.New(toolset.Config{
			Environ: os.Environ(), User: "me", Host: "here",
			Browser: func(_ context.Context, e engine.ToolEnv, save toolset.SaveFunc) (tools.Browser, error) {
				return pool.Open(browser.SessionConfig{
					Conversation: e.Conversation, Save: save,
					Proxy: func() (string, func() error, error) {
						return site.Listener.Addr().String(), func() error { return nil }, nil
					},
				}), nil
			},
		})
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"tools":[{"name":"browser_tool_set"}]}`)})
	}, dir
}

// killChromium ends the Chromium below a directory as a crash does.
func killChromium(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pgrep", "-f", "user-data-dir="+dir).Output()
	if err != nil {
		t.Fatalf("no Chromium runs: %v", err)
	}
	for _, pid := range strings.Fields(string(out)) {
		if data, err := os.ReadFile("/proc/" + pid + "/cmdline"); err != nil || strings.Contains(string(data), "--type=") {
			continue
		}
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	time.Sleep(300 * time.Millisecond)
}

// results are the observations of the browser, and whether they are errors.
func results(t *testing.T, events []event.Event) (list []bool) {
	t.Helper()
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Observation struct {
				Kind    string
				IsError bool `json:"is_error"`
			}
		}
		if err := json.Unmarshal(data, &o); err != nil {
			t.Fatal(err)
		}
		if o.Observation.Kind == "BrowserObservation" {
			list = append(list, o.Observation.IsError)
		}
	}
	return list
}

// TestTheModelSeesWhatTheBrowserShows has a model look at a page and download a file.
// Chromium ends meanwhile, and OpenHands' SDK goes on in the end.
func TestTheModelSeesWhatTheBrowserShows(t *testing.T) {
	change, dir := withBrowser(t)
	w := newWorld(t, withRealModels(func(p *llm.Profile) { p.Model = "openai/gpt-4o" }), change)
	open := llmtest.Tool("browser_navigate", `{"url":"http://shop.example/"}`)
	w.llm.Reply(open, llmtest.Tool("browser_get_state", `{"include_screenshot":true}`), llmtest.Tool("browser_click", `{"index":0}`), llmtest.Text("open today"))
	if res := w.say("look"); res.Answer != "open today" {
		t.Fatalf("%+v", res)
	}
	var pictures, texts int
	for _, m := range w.llm.Await(t, 3).Messages {
		for _, url := range m.Images {
			if strings.HasPrefix(url, "data:image/png;base64,iVBOR") && len(url) > 2000 {
				pictures++
			}
		}
		if strings.Contains(m.Text, `"title": "Shop"`) {
			texts++
		}
	}
	if pictures != 1 || texts != 1 {
		t.Errorf("the model was shown %d pictures and %d states", pictures, texts)
	}
	if got := string(mustRead(t, filepath.Join(w.workspace, "downloads", "notes.txt"))); got != "notes\n" {
		t.Errorf("downloaded %q", got)
	}
	killChromium(t, dir)
	w.llm.Reply(llmtest.Tool("browser_get_state", `{}`), open, llmtest.Tool("browser_get_content", `{}`), llmtest.Text("still open"))
	if res := w.say("again"); res.Answer != "still open" {
		t.Fatalf("%+v", res)
	}
	if diff := cmp.Diff([]bool{false, false, false, true, false, false}, results(t, w.log())); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	w.close()
	root := t.TempDir()
	copyDir(t, filepath.Join(root, filepath.Base(w.dir())), w.dir())
	r := continuedByPython(t, root, llmtest.New(t), "browser")[filepath.Base(w.dir())]
	if r.Error != "" || r.Ended != "finished" || len(r.After) <= len(r.Before) {
		t.Errorf("OpenHands went on to %q, with %d events and then %d\n%s", r.Ended, len(r.Before), len(r.After), r.Error)
	}
}

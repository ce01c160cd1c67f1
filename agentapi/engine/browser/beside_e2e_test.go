//go:build e2e && linux

package browser_test

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	tools "github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

//go:embed beside.py
var besideScript string

// step is an action of both sides. Its element is the first one with the tag.
type step struct {
	Kind string         `json:"kind"`
	Tool string         `json:"-"`
	Args map[string]any `json:"args,omitempty"`
	Tag  string         `json:"tag,omitempty"`
}

// result is what came of a step.
type result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
	Picture bool   `json:"picture"`
}

// upstream starts a Chromium with a port, for OpenHands, and returns its address.
func upstream(t *testing.T) string {
	t.Helper()
	path, dir := chromium(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--disable-gpu", "--user-data-dir="+dir, "--remote-debugging-port=0", "about:blank")
	cmd.Env, cmd.Dir = []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		waittest.Until(t, time.Minute, "the end of its processes", func() (any, bool) {
			left := running(t, dir[:len(dir)-1])
			return left, os.RemoveAll(dir) == nil
		})
	})
	var port string
	waittest.Until(t, time.Minute, "the port of Chromium", func() (any, bool) {
		data, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		port, _, _ = strings.Cut(string(data), "\n")
		return err, port != ""
	})
	return "http://127.0.0.1:" + port
}

// plain is a site with what both sides list in the same way.
func plain(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "Ada"})
			_, _ = io.WriteString(w, `<title>Form</title><h1>Fill it in</h1><form action=/sent><input name=n placeholder=Name><button>Go</button></form><p><a href=/next>Next page</a>`)
		case "/sent":
			_, _ = io.WriteString(w, `<title>Sent</title><h1>Thanks</h1><p>Come again.`)
		default:
			_, _ = io.WriteString(w, `<title>Next</title><p>The end.`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// script is what OpenHands' own executor has made of steps.
type script struct {
	Tools   []described `json:"tools"`
	Results []result    `json:"results"`
}

// played has OpenHands' own executor carry steps out.
func played(t *testing.T, steps []step) (s script) {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(steps)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "actions.json"), data, 0o600)
	}
	if err == nil {
		err = json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, besideScript, upstream(t))), &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOpenHandsRecordsNothing: its package lacks the scripts that it reads to record a session. The
// day it has them, sessions can be recorded here, too.
func TestOpenHandsRecordsNothing(t *testing.T) {
	server := plain(t)
	theirs := played(t, []step{{Kind: "Navigate", Args: map[string]any{"url": server.URL}}, {Kind: "StartRecording"}})
	if r := theirs.Results[1]; !strings.Contains(r.Text, "Error starting recording") || !strings.Contains(r.Text, ".js") {
		t.Errorf("start of a recording by OpenHands = %+v, want an error about a missing script", r)
	}
}

// TestOpenHandsAnswersTheSame plays one script with OpenHands' own executor and with ours.
func TestOpenHandsAnswersTheSame(t *testing.T) {
	server := plain(t)
	steps := []step{
		{Kind: "Navigate", Tool: "navigate", Args: map[string]any{"url": server.URL}},
		{Kind: "GetState", Tool: "get_state", Args: map[string]any{"include_screenshot": true}},
		{Kind: "Type", Tool: "type", Args: map[string]any{"text": "Ada"}, Tag: "input"},
		{Kind: "Type", Tool: "type", Args: map[string]any{"text": "ada@example.com"}, Tag: "input"},
		{Kind: "Type", Tool: "type", Args: map[string]any{"text": "sk-0123456789abcdef"}, Tag: "input"},
		{Kind: "GetStorage", Tool: "get_storage"},
		{Kind: "Click", Tool: "click", Tag: "button"},
		{Kind: "GetState", Tool: "get_state"},
		{Kind: "GetContent", Tool: "get_content"},
		{Kind: "GetContent", Tool: "get_content", Args: map[string]any{"start_from_char": 100000}},
		{Kind: "GoBack", Tool: "go_back"},
		{Kind: "Scroll", Tool: "scroll", Args: map[string]any{"direction": "up"}},
		{Kind: "GetState", Tool: "get_state"},
		{Kind: "Click", Tool: "click", Tag: "video"},
		{Kind: "Click", Tool: "click", Tag: "a"},
		{Kind: "ListTabs", Tool: "list_tabs"},
		{Kind: "Navigate", Tool: "navigate", Args: map[string]any{"url": server.URL + "/sent", "new_tab": true}},
	}
	theirs := played(t, steps)
	p, _ := pool(t)
	s, _ := open(t, p, server.Listener.Addr().String())
	all := tools.Tools(tools.Config{Browser: s, SaveDir: t.TempDir(), Vision: func() bool { return true }})
	sameTools(t, all, theirs.Tools)
	var elements []struct {
		Index int    `json:"index"`
		Tag   string `json:"tag"`
	}
	for i, st := range steps {
		if st.Tag != "" {
			if st.Args == nil {
				st.Args = map[string]any{}
			}
			st.Args["index"] = 99999
			for _, e := range slices.Backward(elements) {
				if e.Tag == st.Tag {
					st.Args["index"] = e.Index
				}
			}
		}
		ours := run(t, all, st)
		if st.Kind == "GetState" {
			var state struct {
				Elements json.RawMessage `json:"interactive_elements"`
			}
			if err := json.Unmarshal([]byte(ours.Text), &state); err != nil {
				t.Fatal(err)
			}
			elements = nil
			if err := json.Unmarshal(state.Elements, &elements); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(comparable(theirs.Results[i]), comparable(ours)); diff != "" {
			t.Errorf("step %d, %s (-theirs +ours):\n%s", i, st.Kind, diff)
		}
	}
}

// run carries out a step of ours.
func run(t *testing.T, all []tool.Tool, s step) result {
	t.Helper()
	args, err := json.Marshal(s.Args)
	if err != nil {
		t.Fatal(err)
	}
	if s.Args == nil {
		args = []byte("{}")
	}
	for _, one := range all {
		if one.Definition().Name != "browser_"+s.Tool {
			continue
		}
		got, err := one.Run(t.Context(), tool.Call{Args: args})
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Content []event.Content `json:"content"`
			Picture *string         `json:"screenshot_data"`
		}
		if err := json.Unmarshal(got.Observation, &o); err != nil {
			t.Fatal(err)
		}
		return result{event.PlainText(o.Content), got.IsError, o.Picture != nil}
	}
	t.Fatalf("there is no tool %s", s.Tool)
	return result{}
}

// comparable leaves out of a result what is each side's own: the numbers of elements, the ids
// of tabs, sizes, how the text of a page was counted, and empty lines. OpenHands shows the
// address in the place of a title that it has not seen, and no labels of fields. It is not
// asked for clicks with new_tab, which it passes on as a coordinate. The title of the page
// after an action is ours alone.
func comparable(r result) result {
	for expr, plain := range map[string]string{
		`element (with index )?\d+`: "element ${1}N", `"index": \d+`: `"index": N`, `"tab_id": "...."`: `"tab_id": "ID"`,
		`"(width|height)": \d+`: `"$1": N`, `Content processed: .*`: "Content processed", `length \(\d+\)`: "length (N)", `has \d+ characters`: "has N characters",
		`"title": "[^"]*"`: `"title": ""`, `("tag": "input",\s+"text": )"[^"]*"`: `${1}""`, `\n\n+`: "\n", `\nPage title: .*`: "",
		`(?s)\{\s+"cookies".*"value": "Ada".*`: "cookies",
	} {
		r.Text = pattern.Of(expr)().ReplaceAllString(r.Text, plain)
	}
	return r
}

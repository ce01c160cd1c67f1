package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/browser"
)

// fake is a browser that answers with what it was asked.
type fake struct {
	browser.Browser

	err    error
	text   string
	closed int
}

func (f *fake) Navigate(_ context.Context, address string, newTab bool) (string, error) {
	if newTab {
		address += " in a new tab"
	}
	return address, f.err
}

func (f *fake) State(_ context.Context, picture bool) (string, []byte, error) {
	if picture {
		return "state", []byte("\x89PNG\r\n\x1a\n"), f.err
	}
	return "state", nil, f.err
}

func (f *fake) Content(context.Context, bool, int) (string, error) { return f.text, f.err }

func (f *fake) Scroll(_ context.Context, up bool) (string, error) {
	if up {
		return "up", nil
	}
	return "down", nil
}

func (f *fake) Close() error { f.closed++; return nil }

func made(t *testing.T, f *fake, vision bool) (map[string]tool.Tool, string) {
	t.Helper()
	dir := t.TempDir()
	all := map[string]tool.Tool{}
	for _, one := range browser.Tools(browser.Config{Browser: f, SaveDir: dir, Vision: func() bool { return vision }}) {
		all[one.Definition().Name] = one
	}
	return all, dir
}

func run(t *testing.T, one tool.Tool, args string) tool.Result {
	t.Helper()
	result, err := one.Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestToolsAreThoseOfOpenHands(t *testing.T) {
	t.Parallel()
	var names []string
	for _, one := range browser.Tools(browser.Config{}) {
		d := one.Definition()
		names = append(names, d.Name)
		if d.ObservationKind != "BrowserObservation" || !strings.HasPrefix(d.ActionKind, "Browser") || !json.Valid(d.Parameters) {
			t.Errorf("definition %+v", d)
		}
	}
	want := []string{
		"browser_navigate", "browser_click", "browser_get_state", "browser_get_content", "browser_type", "browser_scroll", "browser_go_back",
		"browser_list_tabs", "browser_switch_tab", "browser_close_tab", "browser_get_storage", "browser_set_storage",
		"browser_start_recording", "browser_stop_recording",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestAPictureIsStoredAndShown(t *testing.T) {
	t.Parallel()
	all, dir := made(t, &fake{}, true)
	result := run(t, all["browser_get_state"], `{"include_screenshot":true}`)
	if len(result.Content) != 3 || !strings.HasPrefix(result.Content[1].Text, "Screenshot saved to: "+dir) {
		t.Fatalf("content %+v", result.Content)
	}
	if url := result.Content[2].ImageURLs; len(url) != 1 || !strings.HasPrefix(url[0], "data:image/png;base64,iVBORw0KGgo") {
		t.Errorf("picture %v", url)
	}
	saved, err := os.ReadFile(strings.TrimPrefix(result.Content[1].Text, "Screenshot saved to: "))
	if err != nil || string(saved) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("saved %q, %v", saved, err)
	}
	again, _, err := tool.Content(result.Observation)
	if diff := cmp.Diff(result.Content, again); diff != "" || err != nil {
		t.Errorf("later the model is shown something else (-first +later): %v\n%s", err, diff)
	}
}

func TestAModelWithoutVisionGetsASentence(t *testing.T) {
	t.Parallel()
	all, _ := made(t, &fake{}, false)
	result := run(t, all["browser_get_state"], `{"include_screenshot":true}`)
	if len(result.Content) != 1 || !strings.HasSuffix(result.Content[0].Text, "this model is not shown pictures.") {
		t.Errorf("content %+v", result.Content)
	}
}

func TestALongResultIsCutAndSaved(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 60_000)
	all, dir := made(t, &fake{text: long}, false)
	result := run(t, all["browser_get_content"], `{}`)
	if n := len([]rune(result.Content[0].Text)); n > tool.LimitBrowser || n < tool.LimitBrowser-1000 {
		t.Errorf("length %d", n)
	}
	found, err := filepath.Glob(filepath.Join(dir, "browser_output_*.txt"))
	if err != nil || len(found) != 1 || !strings.Contains(result.Content[0].Text, found[0]) {
		t.Errorf("files %v, %v", found, err)
	}
}

func TestAFailureIsAnObservation(t *testing.T) {
	t.Parallel()
	f := &fake{err: errors.New("no such host")}
	all, _ := made(t, f, false)
	for name, want := range map[string]string{
		"browser_navigate": "Browser operation failed: no such host", "browser_start_recording": "Browser operation failed: sessions cannot be recorded here",
	} {
		if result := run(t, all[name], `{"url":"http://a.example"}`); !result.IsError || !strings.HasPrefix(result.Content[0].Text, want) {
			t.Errorf("result of %s: %+v", name, result)
		}
	}
	f.err = nil
	for name, args := range map[string]string{
		"browser_navigate": `{"url":"http://a.example","new_tab":true}`, "browser_scroll": `{"direction":"up"}`,
	} {
		want := map[string]string{"browser_navigate": "http://a.example in a new tab", "browser_scroll": "up"}[name]
		if result := run(t, all[name], args); result.IsError || result.Content[0].Text != want {
			t.Errorf("result of %s: %+v", name, result)
		}
	}
}

func TestTheToolsCloseTheirBrowserOnce(t *testing.T) {
	t.Parallel()
	f := &fake{}
	all, _ := made(t, f, false)
	for _, one := range all {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	if f.closed != 1 {
		t.Errorf("closed %d times", f.closed)
	}
}

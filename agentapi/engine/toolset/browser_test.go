package toolset_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/fault"
)

// host keeps what the model and the person are told.
type host struct {
	conversation.Host

	notices []string
}

func (h *host) Notice(text string) { h.notices = append(h.notices, text) }

// nothing is a browser that does nothing.
type nothing struct{ browser.Browser }

func (nothing) Close() error { return nil }

// opened makes the tools of an agent with a browser, and returns their names and the files
// of the browser.
func opened(t *testing.T, h *host, workspace, name string, err error) (names []string, files toolset.BrowserFiles) {
	t.Helper()
	tools := toolset.New(toolset.Config{Browser: func(_ context.Context, _ engine.ToolEnv, given toolset.BrowserFiles) (browser.Browser, error) {
		files = given
		return nothing{}, err
	}})
	all, made := tools(t.Context(), engine.ToolEnv{
		Dir: t.TempDir(), Workspace: workspace, Host: h, New: true, Log: slog.New(slog.DiscardHandler),
		Agent: storedagent.Agent{"tools": json.RawMessage(`[{"name":"` + name + `"}]`)},
	})
	if made != nil {
		t.Fatal(made)
	}
	for _, one := range all {
		names = append(names, one.Definition().Name)
		t.Cleanup(func() { _ = one.Close() })
	}
	return names, files
}

func TestAnAgentThatNamesTheBrowserHasIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"browser_tool_set", "BrowserToolSet"} {
		h := &host{}
		if names, _ := opened(t, h, t.TempDir(), name, nil); !slices.Contains(names, "browser_navigate") || len(h.notices) > 0 {
			t.Errorf("tools of %s: %v, notices %v", name, names, h.notices)
		}
	}
}

func TestAMissingBrowserIsSaid(t *testing.T) {
	t.Parallel()
	h := &host{}
	names, _ := opened(t, h, t.TempDir(), "browser_tool_set", fault.New("there is no Chromium", "install one", nil))
	if slices.Contains(names, "browser_navigate") || len(h.notices) != 1 || !strings.Contains(h.notices[0], "there is no Chromium") {
		t.Errorf("tools %v, notices %v", names, h.notices)
	}
}

func TestDownloadsAndUploadsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	_, files := opened(t, &host{}, workspace, "browser_tool_set", nil)
	for _, want := range []string{"a.txt", "a-1.txt"} {
		path, err := files.Save("a.txt", strings.NewReader("text"))
		if err != nil || filepath.Base(path) != want || filepath.Base(filepath.Dir(path)) != "downloads" {
			t.Errorf("saved %s, %v", path, err)
		}
	}
	file, err := files.Load("downloads/a-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(file); err != nil || string(text) != "text" || file.Close() != nil {
		t.Errorf("loaded %q, %v", text, err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(workspace, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{outside, "link", "../secret", "/etc/passwd", "downloads", "none"} {
		if file, err := files.Load(path); err == nil {
			t.Errorf("%s was loaded", path)
			_ = file.Close()
		}
	}
}

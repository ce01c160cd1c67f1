//go:build e2e_cloud

package cloud_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/cloudservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestPush continues a conversation of the embedded agent on a real app-server.
func TestPush(t *testing.T) { //nolint:paralleltest // sandboxes that start together take each other's port
	server := cloudservertest.Start(t, cloudservertest.V1)
	llm := llmtest.New(t)
	server.Settings(t, map[string]any{"agent_settings_diff": map[string]any{"llm": cloudservertest.LLM("openai/gpt-4o", llm.URL)}})
	p := newPerson(t)
	p.add(t, "real", server.URL)
	profile := filepath.Join(p.home, ".openhands", "profiles", "here.json")
	if err := os.MkdirAll(filepath.Dir(profile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profile, []byte(`{"model":"openai/gpt-4o","base_url":"`+llm.URL+`","api_key":"k"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(p.home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	p.must(t, "chat", "-p", "--backend", "embedded", "--sandbox", "off", "--workspace", work, "--model", "openhands_here",
		`Make it: [[tool terminal {"command":"mkdir sub; echo hello >sub/a.txt; echo out/ >.gitignore; mkdir out; touch out/x"}]] then [[finish made here]]`)
	fields := strings.Fields(p.must(t, "conversations", "list", "--backend", "embedded"))
	here := fields[len(fields)-1]

	there := strings.TrimSpace(p.must(t, "conversations", "push", here, "--server", "real", "--title", "From here", "--yes"))
	wants(t, p.must(t, "conversations", "show", there, "--server", "real"), "title\tFrom here", "state\trunning")
	out := p.must(t, "conversations", "send", there, `[[tool terminal {"command":"cat sub/a.txt; ls -A; grep -c made.here .ohgw-history/history.md"}]] then [[finish gone on]]`, "--wait")
	wants(t, out, "gone on")
	said := false
	for _, request := range llm.Requests() {
		for _, m := range request.Messages {
			said = said || strings.Contains(m.Text, "This conversation continues one") && strings.Contains(m.Text, "made here")
		}
	}
	if !said {
		t.Error("the model was not told what was done before")
	}
	// The server looks for a title of its own up to 12 s after the message.
	time.Sleep(15 * time.Second)
	wants(t, p.must(t, "conversations", "show", there, "--server", "real"), "title\tFrom here")
	wants(t, p.must(t, "conversations", "download", "files", there, "sub/a.txt", "--output", "-"), "hello")
	if _, code := p.run(t, "conversations", "download", "files", there, "out/x", "--output", "-"); code == 0 {
		t.Error("a file that git ignores was sent")
	}
	wants(t, p.must(t, "conversations", "events", there, "--server", "real", "--last", "30"), "gone on")
	p.must(t, "conversations", "remove", there, "--server", "real", "--yes")

	made := strings.TrimSpace(p.must(t, "conversations", "new", "[[finish done]]", "--title", "My own title"))
	time.Sleep(20 * time.Second)
	wants(t, p.must(t, "conversations", "show", made, "--server", "real"), "title\tMy own title")
	p.must(t, "conversations", "remove", made, "--server", "real", "--yes")
}

//go:build e2e_cloud

package cloud_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/cloudservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestV0 makes the eight calls of V0, each by a command. The release speaks V1 too,
// and then ohgw starts no V0 conversations: this one is started by hand.
func TestV0(t *testing.T) {
	t.Parallel()
	server := cloudservertest.Start(t, cloudservertest.V0)
	llm := llmtest.New(t)
	server.Call(t, http.MethodPost, "/api/settings", map[string]any{
		"language": "en", "agent": "CodeActAgent", "llm_model": "openai/gpt-4o", "llm_api_key": "sk-llm-test", "llm_base_url": llm.URL, "confirmation_mode": false,
	}, nil)
	var made struct {
		ID string `json:"conversation_id"`
	}
	server.Call(t, http.MethodPost, "/api/conversations", map[string]any{"initial_user_msg": "begin"}, &made)
	id := made.ID
	p := newPerson(t)
	p.add(t, "old", server.URL)

	wants(t, p.must(t, "server", "test"), "API\tV0")
	wants(t, p.must(t, "conversations", "wake", id, "--wait"), "/conversations/"+id)
	prompt := `[[tool execute_bash {"command":"git init -q .; echo hello >a.txt","security_risk":"LOW"}]] then [[finish all done]]`
	wants(t, p.must(t, "conversations", "send", id, prompt, "--wait"), "all done")
	wants(t, p.must(t, "conversations", "list", "--server", "old"), "\trunning\t-\tV0\t", id)
	wants(t, p.must(t, "conversations", "show", id, "--server", "old"), "state\trunning", "status\t-", "API\tV0")
	wants(t, p.must(t, "conversations", "changes", id), "added\ta.txt")
	p.must(t, "conversations", "download", "files", id, "a.txt")
	if text, err := os.ReadFile(filepath.Join(p.home, "a.txt")); err != nil || string(text) != "hello\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	p.must(t, "conversations", "download", "workspace", id)
	if text, err := os.ReadFile(filepath.Join(p.home, "workspace-"+id[:8]+".zip")); err != nil || !strings.HasPrefix(string(text), "PK") {
		t.Errorf("the archive: %v", err)
	}
	p.must(t, "conversations", "trajectory", id)
	wants(t, p.must(t, "conversations", "trajectory", id, "--format", "md", "--output", "-"), "all done")
	if _, code := p.run(t, "conversations", "download", "files", id, "nosuch.txt"); code != 1 {
		t.Errorf("a missing file ended with %d", code)
	}

	server.Call(t, http.MethodPost, "/api/conversations/"+id+"/stop", nil, nil)
	if _, code := p.run(t, "conversations", "changes", id); code != 1 {
		t.Errorf("the changes of a sleeping conversation ended with %d", code)
	}
	wants(t, p.must(t, "conversations", "wake", id, "--wait"), "/conversations/"+id)
	// The server says RUNNING before it has the workspace, and until then that this is no repository.
	for deadline := time.Now().Add(patience); !strings.Contains(p.must(t, "conversations", "changes", id), "added\ta.txt"); {
		if time.Now().After(deadline) {
			t.Fatal("the workspace is not there after the wake")
		}
		time.Sleep(time.Second)
	}
	p.must(t, "conversations", "remove", id, "--server", "old", "--yes")
}

//go:build e2e_cloud

package cloud_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/cloudservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestV1 has one server, and starts one sandbox after the other.
func TestV1(t *testing.T) { //nolint:paralleltest // sandboxes that start together take each other's port
	server := cloudservertest.Start(t, cloudservertest.V1, "--hosted")
	llm := llmtest.New(t)
	server.Settings(t, map[string]any{"agent_settings_diff": map[string]any{"llm": cloudservertest.LLM("openai/gpt-4o", llm.URL)}})
	server.SaveProfile(t, "fast", cloudservertest.LLM("openai/gpt-4o", llm.URL))
	p := newPerson(t)
	p.add(t, "real", server.URL)
	t.Run("Commands", func(t *testing.T) { checkCommands(t, p, server) })
	t.Run("Client", func(t *testing.T) { checkClient(t, p, server, llm) })
}

// checkCommands is the life of a conversation, by commands.
func checkCommands(t *testing.T, p *person, server *cloudservertest.Server) {
	wants(t, p.must(t, "server", "test"), "API\tV1")
	prompt := `Make it: [[tool terminal {"command":"mkdir sub; echo hello >sub/a.txt; head -c 300000 /dev/urandom >bytes.bin"}]] then [[finish made it]]`
	wants(t, p.must(t, "conversations", "new", prompt, "--title", "My own title", "--follow"), "made it")
	list := p.must(t, "conversations", "list", "--server", "real")
	wants(t, list, "My own title\trunning\tfinished\tV1")
	fields := strings.Fields(list)
	id := fields[len(fields)-1]
	wants(t, p.must(t, "conversations", "show", id, "--server", "real"), "state\trunning", "title\tMy own title")

	p.must(t, "conversations", "send", id, `[[say one]] [[tool terminal {"command":"sleep 4"}]] then [[say two]] [[tool terminal {"command":"sleep 2"}]] then [[finish three]]`)
	if said := p.must(t, "conversations", "tail", id, "--last", "0", "--follow"); !strings.HasSuffix(said, "one\ntwo\nthree\n") {
		t.Errorf("tail printed %q", said)
	}
	wants(t, p.must(t, "conversations", "send", id[:8], "[[finish four]]", "--wait"), "four")

	wants(t, p.must(t, "conversations", "changes", id), "added\tsub/a.txt", "added\tbytes.bin")
	p.must(t, "conversations", "download", "files", id, "sub/a.txt", "bytes.bin", "--output", "files")
	p.must(t, "conversations", "download", "workspace", id, "--output", "all.tar.gz")
	unpack := exec.Command("tar", "xzf", "all.tar.gz", "--one-top-level=all")
	unpack.Dir = p.home
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	alone, err := os.ReadFile(filepath.Join(p.home, "files", "bytes.bin"))
	if err != nil || len(alone) != 300000 {
		t.Fatalf("the file has %d bytes, %v", len(alone), err)
	}
	found := 0
	_ = filepath.WalkDir(filepath.Join(p.home, "all"), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == "bytes.bin" {
			if packed, err := os.ReadFile(path); err == nil && bytes.Equal(packed, alone) {
				found++
			}
		}
		return err
	})
	if found != 1 {
		t.Error("the archive does not have the same file")
	}

	sleep(t, server, id)
	if _, code := p.run(t, "conversations", "send", id, "are you awake?"); code != 1 {
		t.Errorf("a message to a sleeping conversation ended with %d", code)
	}
	wants(t, p.must(t, "conversations", "wake", id, "--wait"), "/conversations/"+id)
	p.must(t, "conversations", "trajectory", id, "--output", "t.json")
	wants(t, p.must(t, "conversations", "trajectory", id, "--format", "md", "--output", "-"), "made it", "four")
	p.must(t, "conversations", "remove", id, "--server", "real", "--yes")
	if _, code := p.run(t, "conversations", "show", id, "--server", "real"); code != 1 {
		t.Errorf("a conversation that was removed is shown: %d", code)
	}
}

// sleep pauses the sandbox of a conversation, as the hosted service does by itself.
func sleep(t *testing.T, server *cloudservertest.Server, id string) {
	t.Helper()
	server.Call(t, http.MethodPost, "/api/v1/sandboxes/"+sandboxOf(t, server, id)+"/pause", nil, nil)
}

// remove deletes the sandbox of a conversation with its files, as the hosted service
// does in the end.
func remove(t *testing.T, server *cloudservertest.Server, id string) {
	t.Helper()
	box := sandboxOf(t, server, id)
	server.Call(t, http.MethodDelete, "/api/v1/sandboxes/"+box+"?sandbox_id="+box, nil, nil)
}

func sandboxOf(t *testing.T, server *cloudservertest.Server, id string) string {
	t.Helper()
	var found []struct {
		Sandbox string `json:"sandbox_id"`
	}
	server.Call(t, http.MethodGet, "/api/v1/app-conversations?ids="+strings.ReplaceAll(id, "-", ""), nil, &found)
	if len(found) != 1 || found[0].Sandbox == "" {
		t.Fatalf("the conversation %s has no sandbox: %+v", id, found)
	}
	return found[0].Sandbox
}

// checkClient is the gateway with OpenAI's client.
func checkClient(t *testing.T, p *person, server *cloudservertest.Server, llm *llmtest.Server) {
	url := p.serve(t)
	first := ask(t, url, "", "begin [[slow 5 200ms]]", 0)
	if first.Text != "word1 word2 word3 word4 word5" || first.Pieces < 4 || !strings.Contains(first.Reasoning, "sandbox") {
		t.Errorf("first turn: %+v", first)
	}
	id := first.Conversation
	if second := ask(t, url, id, "go on [[finish the second]]", 0); second.Text != "the second" || second.Conversation != id {
		t.Errorf("second turn: %+v", second)
	}
	requests := llm.Requests()
	if last := requests[len(requests)-1]; len(last.Messages) < 4 {
		t.Errorf("the model was told %d messages in the second turn", len(last.Messages))
	}

	stopped := ask(t, url, id, "stop this [[slow 600 100ms]]", 3)
	requests = llm.Requests()
	if !stopped.Aborted {
		t.Errorf("the client did not stop: %+v", stopped)
	}
	settles(t, server, id, "running")
	if len(llm.Requests()) != len(requests) {
		t.Error("the agent went on after Stop")
	}

	sleep(t, server, id)
	if woken := ask(t, url, id, "wake up [[finish awake]]", 0); woken.Text != "awake" || woken.Error != nil {
		t.Errorf("after sleep: %+v", woken)
	}

	lost := make(chan answer, 1)
	before := len(llm.Requests())
	go func() { lost <- ask(t, url, id, "lose this [[slow 600 100ms]]", 0) }()
	for len(llm.Requests()) == before {
		time.Sleep(50 * time.Millisecond)
	}
	server.KillSandbox(t, strings.ReplaceAll(id, "-", ""))
	if a := <-lost; a.Error == nil || a.Attempts != 1 {
		t.Errorf("a sandbox that was killed: %+v", a)
	}
	before = len(llm.Requests())
	back := ask(t, url, id, "go on [[finish back]]", 0)
	if back.Text != "back" || back.Conversation != id || back.Attempts != 1 || !strings.Contains(back.Reasoning, "Waking the sandbox") {
		t.Errorf("after the kill: %+v %+v", back, back.Error)
	}
	requests = llm.Requests()
	if told := fmt.Sprint(requests[len(requests)-1].Messages); len(requests) != before+1 || !strings.Contains(told, "lose this") {
		t.Errorf("the model was asked %d times after the kill, and told %q", len(requests)-before, told)
	}

	remove(t, server, id)
	if after := ask(t, url, id, "and on [[finish x]]", 0); after.Error == nil || !strings.Contains(after.Error.Message, "archived") || after.Attempts != 1 {
		t.Errorf("after the sandbox was deleted: %+v %+v", after, after.Error)
	}
	if again := ask(t, url, "", "another [[finish anew]]", 0); again.Text != "anew" || again.Conversation == id {
		t.Errorf("a new conversation: %+v", again)
	}
}

// settles waits until a conversation is not in this state any more.
func settles(t *testing.T, server *cloudservertest.Server, id, state string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var found []struct {
			Status string `json:"execution_status"`
		}
		server.Call(t, http.MethodGet, "/api/v1/app-conversations?ids="+strings.ReplaceAll(id, "-", ""), nil, &found)
		if len(found) == 1 && found[0].Status != state {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the conversation is still %s", state)
		}
	}
}

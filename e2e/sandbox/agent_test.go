//go:build e2e && linux

package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// The refusal that a client is told about, and how it is said to a person.
const (
	blockedJSON = `{"access":"net","target":"canary.example:80","why":"host canary.example is not on the allow list","allow":"net canary.example"}`
	closing     = "run:\n\n- `ohgw sandbox allow net canary.example`"
)

// call is a tool call of a model.
func call(tool string, arguments map[string]string) llmtest.Reply {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return llmtest.Tool(tool, string(text))
}

func shell(command string) llmtest.Reply {
	return call("terminal", map[string]string{"command": command})
}

// TestAttemptsOfAnAgent lets the embedded agent make ten attempts: in its terminal,
// and with its editor of files.
func TestAttemptsOfAnAgent(t *testing.T) {
	w := newWorld(t, sandbox.Full)
	before := w.take()
	llm := llmtest.New(t)
	address := processtest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	llm.Reply(
		shell("cat '"+w.at(".ssh/id_ed25519")+"'"),
		shell("echo evil >>'"+w.at(".bashrc")+"'"),
		shell("exec 3<>/dev/tcp/127.0.0.1/"+port+" && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && head -n1 <&3"),
		shell("curl -sS --noproxy '' -w 'status %{http_code}' http://"+address+"/readyz"), // by the proxy
		shell("cat '"+w.at(".local/state/ohgw/tokens.json")+"'; ls '"+w.at(".local/state/ohgw")+"'"),
		shell("mkdir -p evil; touch evil/config; echo ../evil >.git/commondir"),
		shell("kill -9 "+w.victim.String()),
		call("file_editor", map[string]string{"command": "view", "path": w.at(".ssh/id_ed25519")}),
		call("file_editor", map[string]string{"command": "create", "path": w.at("bin/new"), "file_text": "x"}),
		shell("curl -sS http://canary.example/"),
		llmtest.Finish("done"))
	w.serveAgent(llm.URL, address)
	header, body := w.ask(address, false)
	w.settle()
	w.toldOf(body)
	// An answer that takes longer than 15 s begins with white space, after its header.
	refusals := strconv.Itoa(strings.Count(body, `"access":`))
	if strings.HasPrefix(body, " ") {
		refusals = ""
	}
	if header.Get("X-OpenHands-Sandbox-Blocked") != refusals || refusals == "0" {
		t.Errorf("X-OpenHands-Sandbox-Blocked is %q: %s", header.Get("X-OpenHands-Sandbox-Blocked"), body)
	}
	for i, observation := range observations(llm) {
		if strings.Contains(observation, w.secret) || strings.Contains(observation, "HTTP/1.") || strings.Contains(observation, "status 200") {
			t.Errorf("attempt %d has reached the outside: %s", i+1, observation)
		}
	}
	if seen := observations(llm); len(seen) != 10 || !strings.Contains(seen[3], "status 403") || !strings.Contains(seen[9], "host canary.example is not on the allow list") {
		t.Errorf("the model has seen %q", seen)
	}
	if w.victim.killed() {
		t.Error("a program of the user was ended")
	}
	after := w.take()
	for _, file := range []string{w.at(".bashrc"), w.at("bin/new"), w.at(".ssh/id_ed25519")} {
		if after[file] != before[file] {
			t.Errorf("%s was changed", file)
		}
	}
	for _, heard := range w.heard.all() {
		// ohgw itself may look up the hosts of its presets.
		if strings.Contains(heard, "canary") || !strings.Contains(heard, "flush-") && !strings.HasPrefix(heard, "udp 53: ") {
			t.Errorf("heard outside: %q", heard)
		}
	}
	planted := filepath.Join(w.app, ".git", "commondir")
	// It is looked for while the agent works.
	waittest.Until(t, 10*time.Second, "the planted file is removed", func() (any, bool) {
		_, err := os.Lstat(planted)
		return planted, err != nil
	})

	llm.Reply(shell("curl -sS http://canary.example/"), llmtest.Finish("done"))
	_, body = w.ask(address, true)
	w.toldOf(body)
}

// observations are what the model has seen of its calls.
func observations(llm *llmtest.Server) []string {
	all := llm.Requests()
	var seen []string
	for _, m := range all[len(all)-1].Messages {
		if m.CallID != "" {
			seen = append(seen, m.Text)
		}
	}
	return seen
}

// toldOf checks that an answer has the refusal, for programs and for people.
func (w *world) toldOf(body string) {
	w.t.Helper()
	_, list, ok := strings.Cut(body, `"sandbox_blocked":[`)
	if !ok || !strings.Contains(list, blockedJSON) {
		w.t.Errorf("the answer does not have %s: %s", blockedJSON, body)
	}
	text, err := json.Marshal(closing)
	if err != nil {
		w.t.Fatal(err)
	}
	if words := strings.Trim(string(text), `"`); !strings.Contains(body, words) {
		w.t.Errorf("the answer does not end with %s: %s", words, body)
	}
}

// agentKey is a key of the gateway.
const agentKey = "a-key-of-the-test"

// serveAgent starts ohgw with an agent whose model is at that URL.
func (w *world) serveAgent(model, address string) {
	w.t.Helper()
	w.file(w.at(".openhands/profiles/work.json"), fmt.Sprintf(`{"model": "openai/scripted", "base_url": %q, "num_retries": 1}`, model))
	w.file(w.at(".openhands/settings.json"), `{"active_profile": "work"}`)
	cmd := w.ohgw(context.WithoutCancel(w.t.Context()), "serve", "--addr", address, "--backend", "embedded", "--key-store", "file", "--workspace", w.app)
	cmd.Env = append(w.environ(), "OPENAI_API_KEY=sk-of-this-test", "OHGW_API_KEYS="+agentKey)
	log := filepath.Join(w.base, "log")
	served, err := processtest.Start(cmd, log)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := served.End(syscall.SIGTERM, time.Minute); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			text, _ := os.ReadFile(log)
			w.t.Logf("%s", text)
		}
	})
	if err := served.Await(w.t.Context(), "http://"+address+"/readyz", time.Minute); err != nil {
		w.t.Fatal(err)
	}
}

// ask lets the agent work, and returns its answer.
func (w *world) ask(address string, stream bool) (header http.Header, body string) {
	w.t.Helper()
	question := fmt.Sprintf(`{"model":"openhands_work","stream":%v,"messages":[{"role":"user","content":"go"}]}`, stream)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+agentKey)
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: body = %s, error %v", response.Status, data, err)
	}
	return response.Header, string(data)
}

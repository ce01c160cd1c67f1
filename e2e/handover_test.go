//go:build e2e

package e2e_test

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

//go:embed python/handover.py
var handoverScript string

// TestAConversationIsHandedOver begins a conversation with OpenHands' SDK. A client of
// /v1 streams its turn, ohgw chat confirms its action, the SDK sees the end, and an
// agent-server continues it from its directory.
func TestAConversationIsHandedOver(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux: ", err)
	}
	switch agentservertest.Wanted() {
	case agentservertest.Cloud, agentservertest.CLI:
		t.Skip("an older server looks for the agent in meta.json, where newer ones and ohgw have none")
	}
	const secret = "OH_SECRET_KEY=of the handover"
	llm, home, dir := llmtest.New(t), t.TempDir(), t.TempDir()
	scriptedProfile(t, home, llm.URL)
	g := start(t, racyProgram(t), home, []string{"--backend", "embedded", "--key-store", "file", "--native"}, secret, "OPENAI_API_KEY=sk-llm-test")
	watched, id := beginHandover(t, g, llm.URL, dir)
	const script = `[[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Handed over.]]`
	res := g.post(t, chat(script, true), "X-OpenHands-ServerConversation-ID", id)
	if stream := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(stream, "echo tea > note.txt") || !strings.HasSuffix(stream, "data: [DONE]\n\n") {
		t.Fatalf("the stream of /v1: %s %s", res.Status, stream)
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err == nil {
		t.Error("the action was not held back")
	}
	confirmInATerminal(t, g, home, id)
	var got struct {
		Ended, Waited bool
		Answer        string
	}
	if err := json.Unmarshal(sdktest.Result(t, watched()), &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Ended, want.Waited, want.Answer = true, true, "Handed over."
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the SDK saw: %s", diff)
	}
	g.stop(t)
	goOnInAnAgentServer(t, g, id, dir, secret)
}

// beginHandover begins a conversation with the SDK, which goes on to watch it; watched
// gives all that it has printed.
func beginHandover(t *testing.T, g *gateway, llmURL, dir string) (watched func() []byte, id string) {
	t.Helper()
	cmd := sdktest.Command(t, dir, handoverScript, g.URL, gatewayKey, llmURL, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for id == "" && lines.Scan() {
		_, id, _ = strings.Cut(lines.Text(), "CONVERSATION ")
	}
	if !isUUID.MatchString(id) {
		t.Fatalf("the SDK began no conversation: %q, %v, %v", id, lines.Err(), cmd.Wait())
	}
	return func() []byte {
		var rest []byte
		for lines.Scan() {
			rest = append(append(rest, lines.Bytes()...), '\n')
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the SDK: %v: %s", err, rest)
		}
		return rest
	}, id
}

// confirmInATerminal opens a conversation in ohgw chat and allows the action that waits.
func confirmInATerminal(t *testing.T, g *gateway, home, id string) {
	t.Helper()
	socket := filepath.Join(home, "tmux")
	tmux := func(words ...string) string {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, words...)...)
		cmd.Env = append(environment(home), "TERM=xterm-256color", "OHGW_API_KEY="+gatewayKey)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", words, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", "100", "-y", "40", racyProgram(t)+" chat --url "+g.URL+"/v1 --conversation "+id)
	defer tmux("kill-server")
	until := func(what string) {
		waittest.Until(t, patience, fmt.Sprintf("the chat shows %q", what), func() (any, bool) {
			shown := tmux("capture-pane", "-p")
			return "\n" + shown, strings.Contains(shown, what)
		})
	}
	until("Confirm this action?")
	tmux("send-keys", "y")
	until("\n  Handed over.") // not the prompt, which has these words too
}

// goOnInAnAgentServer gives the directory of a conversation to an agent-server and sends
// it a message there.
func goOnInAnAgentServer(t *testing.T, g *gateway, id, dir, secret string) {
	t.Helper()
	agents := agentservertest.StartVersion(t, agentservertest.Wanted(), "OH_CONVERSATIONS_PATH="+filepath.Join(g.State, "conversations"), secret, "OPENAI_API_KEY=sk-llm-test")
	path := "/api/conversations/" + id
	agents.Call(t, http.MethodPost, path+"/confirmation_policy", map[string]any{"policy": map[string]any{"kind": "NeverConfirm"}}, nil)
	agents.Call(t, http.MethodPost, path+"/events", map[string]any{
		"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": `[[tool terminal {"command":"cat note.txt > read.txt"}]] then [[finish Gone on.]]`}},
	}, nil)
	var info struct {
		Status string `json:"execution_status"`
	}
	var answer struct {
		Response string `json:"response"`
	}
	waittest.Poll(patience, func() bool {
		agents.Call(t, http.MethodGet, path, nil, &info)
		agents.Call(t, http.MethodGet, path+"/agent_final_response", nil, &answer)
		return info.Status == "error" || info.Status == "finished" && answer.Response == "Gone on."
	})
	if read, err := os.ReadFile(filepath.Join(dir, "read.txt")); err != nil || string(read) != "tea\n" || info.Status != "finished" || answer.Response != "Gone on." {
		t.Errorf("in the agent-server: %s, %q, %q, %v", info.Status, answer.Response, read, err)
	}
}

//go:build e2e

package e2e_test

import (
	_ "embed"
	"encoding/json"
	"io"
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
)

var (
	//go:embed python/native.py
	nativeScript string
	//go:embed python/switches.py
	switchesScript string
)

// TestOpenHandsSDKThroughTheGateway runs OpenHands' own Python SDK against ohgw in
// front of an agent-server. The SDK has ohgw's key only. A conversation that it has
// begun goes on by /v1.
func TestOpenHandsSDKThroughTheGateway(t *testing.T) {
	t.Parallel()
	s := newStack(t, racyProgram(t), "--native")
	talk(t, s.gateway, s.llm.URL)
}

// TestOpenHandsSDKAndTheEmbeddedAgent runs the same against ohgw alone.
func TestOpenHandsSDKAndTheEmbeddedAgent(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	talk(t, serveEmbedded(t, racyProgram(t), llm.URL, "--native"), llm.URL)
}

// TestTheSwitchesOfTheSDKAndTheEmbeddedAgent has the SDK confirm, reject, fork, ask and
// join again.
func TestTheSwitchesOfTheSDKAndTheEmbeddedAgent(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	g := serveEmbedded(t, racyProgram(t), llm.URL, "--native")
	dir := t.TempDir()
	var got struct {
		Statuses                 []string
		Fork, Once, Seen, Hidden bool
		Asked, Again             string
	}
	out := sdktest.Run(t, dir, switchesScript, g.URL, gatewayKey, llm.URL, dir)
	if err := json.Unmarshal(sdktest.Result(t, out), &got); err != nil {
		t.Fatalf("reading the output as JSON: %v: %s", err, out)
	}
	want := got
	want.Statuses = []string{"waiting_for_confirmation", "finished", "waiting_for_confirmation", "idle", "finished"}
	want.Fork, want.Once, want.Seen, want.Hidden, want.Asked, want.Again = true, true, true, true, "Asked.", "Again."
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{"done.txt": "accepted", "secret.txt": "21"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.TrimSpace(string(got)) != text {
			t.Errorf("%s: file = %q, error %v", name, got, err)
		}
	}
}

// TestOpenHandsTypeScriptClient runs OpenHands' own TypeScript client against ohgw with
// the embedded agent, and in front of an agent-server.
func TestOpenHandsTypeScriptClient(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	t.Run("the embedded agent", func(t *testing.T) {
		t.Parallel()
		llm := llmtest.New(t)
		inTypeScript(t, node, agentservertest.Newest, serveEmbedded(t, racyProgram(t), llm.URL, "--native"), llm.URL)
	})
	t.Run("an agent-server", func(t *testing.T) {
		t.Parallel()
		s := newStack(t, racyProgram(t), "--native")
		inTypeScript(t, node, agentservertest.Newest, s.gateway, s.llm.URL)
	})
}

func inTypeScript(t *testing.T, node, version string, s *gateway, llmURL string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "native.mjs", s.URL, gatewayKey, llmURL, t.TempDir())
	cmd.Dir, cmd.Stderr = "node", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the program: %v: %s", err, out)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reading the output as JSON: %v: %s", err, out)
	}
	want := map[string]any{
		"version": version, "tools": true, "model": "openai/test", "secret": "tea", "profiles": []any{"two", false, true}, "agents": true,
		"file": "grün\n", "command": []any{"grün\n", 3.0}, "streamed": true, "answer": "Here is tea.",
		"kinds":  []any{"MessageEvent", "ActionEvent", "ObservationEvent", "MessageEvent"},
		"forked": true, "asked": "Asked.", "title": "Tea", "changes": []any{"note.txt", "up.txt", "yes.txt"},
		"trajectory": true, "left": []any{false, true}, "refused": float64(http.StatusUnauthorized),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// talk has the SDK talk with a gateway, and continues the conversation by /v1.
func talk(t *testing.T, s *gateway, llmURL string) {
	t.Helper()
	dir := t.TempDir()
	var got struct {
		Answers      []string
		Command      string
		Events       bool
		Refused      int
		Conversation string
		Skills       []string
		Calls        bool
		Tags         []map[string]string
		Archived     bool
		Rest         int
	}
	out := sdktest.Run(t, dir, nativeScript, s.URL, gatewayKey, llmURL, dir)
	if err := json.Unmarshal(sdktest.Result(t, out), &got); err != nil {
		t.Fatalf("reading the output as JSON: %v: %s", err, out)
	}
	conversation := got.Conversation
	got.Conversation = ""
	want := got
	want.Answers, want.Command, want.Events, want.Refused = []string{"Written.", "Read.", "Brewed."}, "tea", true, http.StatusUnauthorized
	want.Skills, want.Calls, want.Tags = []string{"tea"}, true, []map[string]string{{"color": "red"}}
	want.Archived, want.Rest = true, http.StatusNoContent
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	res := s.post(t, chat(`[[tool terminal {"command":"test \"$(cat note.txt)\" = tea"}]] then [[finish Read by v1.]]`, false),
		"X-OpenHands-ServerConversation-ID", conversation)
	defer func() { _ = res.Body.Close() }() // It was only read.
	answer, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(answer), "Read by v1.") {
		t.Errorf("the conversation does not go on by /v1: %d, %v, %s", res.StatusCode, err, answer)
	}
}

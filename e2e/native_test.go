//go:build e2e

package e2e_test

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

//go:embed python/native.py
var nativeScript string

// TestOpenHandsSDKThroughTheGateway runs OpenHands' own Python SDK against ohgw in
// front of an agent-server. The SDK has ohgw's key only. A conversation that it has
// begun goes on by /v1.
func TestOpenHandsSDKThroughTheGateway(t *testing.T) {
	t.Parallel()
	program := racyProgram(t)
	s := newStack(t, program, "--native")
	dir := t.TempDir()
	var got struct {
		Answers      []string
		Command      string
		Events       bool
		Refused      int
		Conversation string
	}
	out := sdktest.Run(t, dir, nativeScript, s.URL, gatewayKey, s.llm.URL, dir)
	if err := json.Unmarshal(sdktest.Result(t, out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conversation := got.Conversation
	got.Conversation = ""
	want := got
	want.Answers, want.Command, want.Events, want.Refused = []string{"Written.", "Read."}, "tea", true, http.StatusUnauthorized
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

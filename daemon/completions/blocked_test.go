package completions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/openai"
)

func blockOf(host string) agentapi.Block {
	return agentapi.Block{Access: "net", Target: host + ":443", Why: "not on the allow list", Allow: "net " + host}
}

const (
	blockedJSON    = `{"access":"net","target":"api.example.com:443","why":"not on the allow list","allow":"net api.example.com"}`
	heldJSON       = `{"access":"net","target":"api.example.com:443","why":"not on the allow list","allow":"net api.example.com","held":true}`
	blockedClosing = "The sandbox refused some of what the agent wanted. If it should be allowed, run:\n\n- `ohgw sandbox allow net api.example.com`"
)

// waited is a script in which something is held, and refused in the end.
func waited() []daemontest.Step {
	held := blockOf("api.example.com")
	held.Held = true
	hopeless := agentapi.Block{Access: "write", Target: "/etc/hosts", Why: "read-only"}
	return []daemontest.Step{daemontest.Blocked(held), daemontest.Blocked(blockOf("api.example.com")), daemontest.Blocked(hopeless), daemontest.Finish("Done.")}
}

func TestAnAnswerSaysWhatTheSandboxRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(waited()...))
	res := g.Chat(apitest.Ask("go"))
	c := apitest.Completed(t, res)
	apitest.Equal(t, "text", c.Text(), "Done.\n\n"+blockedClosing)
	apitest.Equal(t, "blocked", res.Header.Get("X-OpenHands-Sandbox-Blocked"), "2")
	apitest.Equal(t, "sandbox", res.Header.Get("X-OpenHands-Sandbox"), "backend")
	apitest.Contains(t, "extension", res.Body, `"sandbox_blocked":[`+blockedJSON+`,{"access":"write","target":"/etc/hosts","why":"read-only"}]`)
	apitest.Contains(t, "progress", c.Choices[0].Message.Reasoning, "sandbox: waits up to 60 s for: ohgw sandbox allow net api.example.com\nsandbox: refused api.example.com:443 (not on the allow list)\nsandbox: refused write /etc/hosts (read-only)\n")
}

func TestAStreamTellsOfEachRefusalAtOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(waited()...))
	res := g.Chat(apitest.Ask("go", apitest.Streamed), "X-OpenHands-Details", "actions")
	f := apitest.Parse(t, res)
	var seen []string
	for _, c := range f.Chunks {
		if b, ok := c.Extension["sandbox"]; ok {
			seen = append(seen, encoded(t, b))
		}
	}
	apitest.Equal(t, "refusals", strings.Join(seen, "\n"), strings.Join([]string{sorted(t, heldJSON), sorted(t, blockedJSON), `{"access":"write","target":"/etc/hosts","why":"read-only"}`}, "\n"))
	apitest.Equal(t, "text", f.Text(), "Done.\n\n"+blockedClosing)
	apitest.Contains(t, "the end", res.Body, `"sandbox_blocked":[`+blockedJSON)
	apitest.Equal(t, "sandbox", res.Header.Get("X-OpenHands-Sandbox"), "backend")

	stock := g.Chat(apitest.Ask("go again", apitest.Streamed))
	apitest.Lacks(t, "a client that does not ask", stock.Body, `"sandbox":`)
	apitest.Contains(t, "a client that does not ask", stock.Body, `"sandbox_blocked":[`+blockedJSON)
	apitest.Contains(t, "a client that does not ask", apitest.Parse(t, stock).Reasoning(), "sandbox: refused api.example.com:443 (not on the allow list)\n")
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sorted is an object with its members in the order of their names.
func sorted(t *testing.T, text string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return encoded(t, v)
}

func TestAnAnswerWithAFormHasNoClosingParagraph(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Blocked(blockOf("api.example.com")), daemontest.Finish(`{"a":1}`)))
	for _, more := range [][]string{nil, {apitest.Streamed}} {
		res := g.Chat(apitest.Ask("go", append(more, `"response_format":{"type":"json_object"}`)...))
		apitest.Lacks(t, "answer", res.Body, "ohgw sandbox allow")
		apitest.Contains(t, "extension", res.Body, `"sandbox_blocked":[`+blockedJSON+`]`)
		if more == nil {
			apitest.Equal(t, "text", apitest.Completed(t, res).Text(), `{"a":1}`)
			apitest.Equal(t, "blocked", res.Header.Get("X-OpenHands-Sandbox-Blocked"), "1")
		}
	}
}

func TestAResponseSaysWhatTheSandboxRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(waited()...))
	for _, more := range [][]string{nil, {apitest.Streamed}} {
		res := g.Do("POST", "/v1/responses", apitest.Input("go", more...))
		apitest.Contains(t, "extension", res.Body, `"sandbox_blocked":[`+blockedJSON)
		apitest.Contains(t, "text", res.Body, "ohgw sandbox allow net api.example.com`")
		apitest.Equal(t, "sandbox", res.Header.Get("X-OpenHands-Sandbox"), "backend")
		if more == nil {
			apitest.Equal(t, "blocked", res.Header.Get("X-OpenHands-Sandbox-Blocked"), "2")
		}
	}
}

// A model may ask for a thousand names, or for long ones.
func TestManyRefusalsFitIntoAFrame(t *testing.T) {
	t.Parallel()
	var steps []daemontest.Step
	for i := range 200 {
		b := blockOf(fmt.Sprintf("%s%d.example.com", strings.Repeat("<", 900), i))
		steps = append(steps, daemontest.Blocked(b))
	}
	g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("Done."))...))
	res := g.Chat(apitest.Ask("go", apitest.Streamed), "X-OpenHands-Details", "actions")
	for frame := range strings.SplitSeq(res.Body, "\n\n") {
		if len(frame) >= openai.MaxFrame {
			t.Errorf("a frame of %d bytes", len(frame))
		}
	}
	if n := strings.Count(apitest.Parse(t, res).Text(), "ohgw sandbox allow"); n != 10 {
		t.Errorf("%d commands", n)
	}
}

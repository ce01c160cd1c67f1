package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
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
	g := serve(t, script(waited()...))
	res := g.chat(ask("go"))
	c := completed(t, res)
	equal(t, "text", c.text(), "Done.\n\n"+blockedClosing)
	equal(t, "blocked", res.header.Get("X-OpenHands-Sandbox-Blocked"), "2")
	equal(t, "sandbox", res.header.Get("X-OpenHands-Sandbox"), "backend")
	contains(t, "extension", res.body, `"sandbox_blocked":[`+blockedJSON+`,{"access":"write","target":"/etc/hosts","why":"read-only"}]`)
	contains(t, "progress", c.Choices[0].Message.Reasoning, "sandbox: waits up to 60 s for: ohgw sandbox allow net api.example.com\nsandbox: refused api.example.com:443 (not on the allow list)\nsandbox: refused write /etc/hosts (read-only)\n")
}

func TestAStreamTellsOfEachRefusalAtOnce(t *testing.T) {
	t.Parallel()
	g := serve(t, script(waited()...))
	res := g.chat(ask("go", streamed), "X-OpenHands-Details", "actions")
	f := parse(t, res)
	var seen []string
	for _, c := range f.chunks {
		if b, ok := c.Extension["sandbox"]; ok {
			seen = append(seen, encoded(t, b))
		}
	}
	equal(t, "refusals", strings.Join(seen, "\n"), strings.Join([]string{sorted(t, heldJSON), sorted(t, blockedJSON), `{"access":"write","target":"/etc/hosts","why":"read-only"}`}, "\n"))
	equal(t, "text", f.text(), "Done.\n\n"+blockedClosing)
	contains(t, "the end", res.body, `"sandbox_blocked":[`+blockedJSON)
	equal(t, "sandbox", res.header.Get("X-OpenHands-Sandbox"), "backend")

	stock := g.chat(ask("go again", streamed))
	lacks(t, "a client that does not ask", stock.body, `"sandbox":`)
	contains(t, "a client that does not ask", stock.body, `"sandbox_blocked":[`+blockedJSON)
	contains(t, "a client that does not ask", parse(t, stock).reasoning(), "sandbox: refused api.example.com:443 (not on the allow list)\n")
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
	g := serve(t, script(daemontest.Blocked(blockOf("api.example.com")), daemontest.Finish(`{"a":1}`)))
	for _, more := range [][]string{nil, {streamed}} {
		res := g.chat(ask("go", append(more, `"response_format":{"type":"json_object"}`)...))
		lacks(t, "answer", res.body, "ohgw sandbox allow")
		contains(t, "extension", res.body, `"sandbox_blocked":[`+blockedJSON+`]`)
		if more == nil {
			equal(t, "text", completed(t, res).text(), `{"a":1}`)
			equal(t, "blocked", res.header.Get("X-OpenHands-Sandbox-Blocked"), "1")
		}
	}
}

func TestAResponseSaysWhatTheSandboxRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, script(waited()...))
	for _, more := range [][]string{nil, {streamed}} {
		res := g.do("POST", "/v1/responses", input("go", more...))
		contains(t, "extension", res.body, `"sandbox_blocked":[`+blockedJSON)
		contains(t, "text", res.body, "ohgw sandbox allow net api.example.com`")
		equal(t, "sandbox", res.header.Get("X-OpenHands-Sandbox"), "backend")
		if more == nil {
			equal(t, "blocked", res.header.Get("X-OpenHands-Sandbox-Blocked"), "2")
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
	g := serve(t, script(append(steps, daemontest.Finish("Done."))...))
	res := g.chat(ask("go", streamed), "X-OpenHands-Details", "actions")
	for frame := range strings.SplitSeq(res.body, "\n\n") {
		if len(frame) >= openai.MaxFrame {
			t.Errorf("a frame of %d bytes", len(frame))
		}
	}
	if n := strings.Count(parse(t, res).text(), "ohgw sandbox allow"); n != 10 {
		t.Errorf("%d commands", n)
	}
}

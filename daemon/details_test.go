package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/openai"
)

// failedCommand is a command that fails, with an output.
func failedCommand(output string) daemontest.Step {
	return daemontest.Call("terminal", map[string]any{"command": "go test"}, map[string]any{
		"content": []map[string]string{{"type": "text", "text": output}}, "exit_code": 1,
	})
}

// actionOf is the action of a chunk, or nil.
func actionOf(c chunk) map[string]any {
	action, _ := c.Extension["action"].(map[string]any)
	return action
}

func TestActionsComeWithTheirResultsWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	g := serve(t, script(failedCommand("FAIL x"), daemontest.Finish("It fails.")))
	f := parse(t, g.chat(ask("test it", streamed), "X-OpenHands-Details", "actions"))
	var seen []string
	for _, c := range f.chunks {
		if a := actionOf(c); a != nil {
			seen = append(seen, fmt.Sprint(a["state"], " ", a["line"], " ", a["exit_code"], " ", a["output"]))
		}
	}
	equal(t, "actions", strings.Join(seen, "|"), "running $ go test <nil> <nil>|failed $ go test 1 FAIL x")
	equal(t, "progress", f.reasoning(), "$ go test\n✗ $ go test (exit code 1)\n")
	equal(t, "text", f.text(), "It fails.")
}

func TestActionsAreLeftOutWhereNobodyAskedForThem(t *testing.T) {
	t.Parallel()
	g := serve(t, script(failedCommand("FAIL x"), daemontest.Finish("It fails.")))
	res := g.chat(ask("test it", streamed))
	lacks(t, "stream", res.body, `"action"`)
	lacks(t, "stream", res.body, "FAIL x")
	equal(t, "progress", parse(t, res).reasoning(), "$ go test\n✗ $ go test (exit code 1)\n")
}

func TestAWholeAnswerListsItsActions(t *testing.T) {
	t.Parallel()
	g := serve(t, script(failedCommand("FAIL x"), daemontest.Tool("ls"), daemontest.Finish("It fails.")))
	res := g.chat(ask("test it"), "X-OpenHands-Details", "actions")
	actions, _ := completed(t, res).Extension["actions"].([]any)
	if len(actions) != 2 {
		t.Fatalf("actions %v", actions)
	}
	first, second := actions[0].(map[string]any), actions[1].(map[string]any)
	equal(t, "first", fmt.Sprint(first["state"], first["input"], first["output"]), "failedgo testFAIL x")
	equal(t, "second", fmt.Sprint(second["state"], second["line"]), "done$ ls")
}

func TestTheEndSaysHowFullTheContextIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		window int64
		want   string
	}{{128_000, `"context":{"tokens":5203,"window":128000}`}, {0, `"context":{"tokens":5203}`}} {
		for _, more := range [][]string{{streamed}, nil} {
			g := serve(t, script(daemontest.Fill(5203, tc.window), daemontest.Finish("done")))
			contains(t, "answer", g.chat(ask("hi", more...), "X-OpenHands-Details", "actions").body, tc.want)
			lacks(t, "answer", g.chat(ask("hi again", more...)).body, `"context"`)
		}
	}
}

func TestAClientThatJoinsGetsTheActions(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	g := serve(t, script(failedCommand("FAIL x"), daemontest.Until(gate), daemontest.Finish("It fails.")))
	details := []string{"X-OpenHands-Details", "actions", "Idempotency-Key", "one"}
	first := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed), details...))
	defer first.Body.Close()
	second := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed), details...))
	close(gate)
	contains(t, "the second stream", g.finish(second).body, `"output":"FAIL x"`)
	contains(t, "the first stream", g.finish(first).body, `"output":"FAIL x"`)
}

func TestUnknownDetailsAreRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("done")))
	envelope(t, g.chat(ask("hi"), "X-OpenHands-Details", "everything"), http.StatusBadRequest, "invalid_value", "X-OpenHands-Details")
}

// Some clients cannot read a line longer than this.
func TestFramesWithLargeActionsStaySmall(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"x", "\x1b", "\x00", "\"", "世", "\u2028", "\xff", "\n", "😀"} {
		g := serve(t, script(failedCommand(strings.Repeat(letter, 100_000)), daemontest.Finish("done")))
		res := g.chat(ask("go", streamed), "X-OpenHands-Details", "actions")
		for frame := range strings.SplitSeq(res.body, "\n\n") {
			if len(frame) >= openai.MaxFrame {
				t.Errorf("%q: a frame of %d bytes", letter, len(frame))
			}
		}
		parse(t, res)
	}
}

func TestPhasesComeWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Phase(event.Phase{Name: event.PhaseReading, Prompt: 1925, Read: 512}), daemontest.Finish("Yes.")))
	for _, wanted := range []bool{true, false} {
		headers := []string{}
		if wanted {
			headers = append(headers, "X-OpenHands-Phases", "show")
		}
		f := parse(t, g.chat(ask("a question", streamed), headers...))
		var seen []string
		for _, c := range f.chunks {
			if p, ok := c.Extension["phase"].(map[string]any); ok {
				seen = append(seen, fmt.Sprint(p["name"], " ", p["prompt_tokens"], " ", p["read_tokens"]))
			}
		}
		want := ""
		if wanted {
			want = "reading 1925 512"
		}
		equal(t, "phases", strings.Join(seen, "|"), want)
		equal(t, "progress", f.reasoning(), "")
		equal(t, "text", f.text(), "Yes.")
	}
}

// A repeated request to the provider is a line for every client, and an object for those that
// want details or phases.
func TestARepeatedRequestComesWithDetailsAndPhases(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Retry(event.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "it is busy"}), daemontest.Finish("Yes.")))
	for header, value := range map[string]string{"X-OpenHands-Details": "actions", "X-OpenHands-Phases": "show", "X-OpenHands-Repeat": "run"} {
		f := parse(t, g.chat(ask("a question", streamed), header, value))
		equal(t, "progress", f.reasoning(), "it is busy; attempt 2 of 5 in 16 s\n")
		var seen []string
		for _, c := range f.chunks {
			if r, ok := c.Extension["retry"].(map[string]any); ok {
				seen = append(seen, fmt.Sprint(r["attempt"], " of ", r["of"], ": ", r["cause"]))
			}
		}
		want := "2 of 5: it is busy"
		if header == "X-OpenHands-Repeat" {
			want = ""
		}
		equal(t, "repeated requests with "+header, strings.Join(seen, "|"), want)
	}
}

// A client that knows no phases is told why nothing comes for a minute.
func TestTheLoadingOfAModelIsProgress(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Phase(event.Phase{Name: event.PhaseLoading}), daemontest.Finish("Yes.")))
	equal(t, "progress", parse(t, g.chat(ask("a question", streamed))).reasoning(), "loading the model\n")
	equal(t, "progress", parse(t, g.chat(ask("a question", streamed), "X-OpenHands-Phases", "show")).reasoning(), "")
}

package completions_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/apitest"
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
func actionOf(c apitest.Chunk) map[string]any {
	action, _ := c.Extension["action"].(map[string]any)
	return action
}

func TestActionsComeWithTheirResultsWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(failedCommand("FAIL x"), daemontest.Finish("It fails.")))
	f := apitest.Parse(t, g.Chat(apitest.Ask("test it", apitest.Streamed), "X-OpenHands-Details", "actions"))
	var seen []string
	for _, c := range f.Chunks {
		if a := actionOf(c); a != nil {
			seen = append(seen, fmt.Sprint(a["state"], " ", a["line"], " ", a["exit_code"], " ", a["output"]))
		}
	}
	apitest.Equal(t, "actions", strings.Join(seen, "|"), "running $ go test <nil> <nil>|failed $ go test 1 FAIL x")
	apitest.Equal(t, "progress", f.Reasoning(), "$ go test\n✗ $ go test (exit code 1)\n")
	apitest.Equal(t, "text", f.Text(), "It fails.")
}

func TestActionsAreLeftOutWhereNobodyAskedForThem(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(failedCommand("FAIL x"), daemontest.Finish("It fails.")))
	res := g.Chat(apitest.Ask("test it", apitest.Streamed))
	apitest.Lacks(t, "stream", res.Body, `"action"`)
	apitest.Lacks(t, "stream", res.Body, "FAIL x")
	apitest.Equal(t, "progress", apitest.Parse(t, res).Reasoning(), "$ go test\n✗ $ go test (exit code 1)\n")
}

func TestAWholeAnswerListsItsActions(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(failedCommand("FAIL x"), daemontest.Tool("ls"), daemontest.Finish("It fails.")))
	res := g.Chat(apitest.Ask("test it"), "X-OpenHands-Details", "actions")
	actions, _ := apitest.Completed(t, res).Extension["actions"].([]any)
	if len(actions) != 2 {
		t.Fatalf("actions %v", actions)
	}
	first, second := actions[0].(map[string]any), actions[1].(map[string]any)
	apitest.Equal(t, "first", fmt.Sprint(first["state"], first["input"], first["output"]), "failedgo testFAIL x")
	apitest.Equal(t, "second", fmt.Sprint(second["state"], second["line"]), "done$ ls")
}

func TestTheEndSaysHowFullTheContextIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		window int64
		want   string
	}{{128_000, `"context":{"tokens":5203,"window":128000}`}, {0, `"context":{"tokens":5203}`}} {
		for _, more := range [][]string{{apitest.Streamed}, nil} {
			g := apitest.Serve(t, apitest.Script(daemontest.Fill(5203, tc.window), daemontest.Finish("done")))
			apitest.Contains(t, "answer", g.Chat(apitest.Ask("hi", more...), "X-OpenHands-Details", "actions").Body, tc.want)
			apitest.Lacks(t, "answer", g.Chat(apitest.Ask("hi again", more...)).Body, `"context"`)
		}
	}
}

func TestAClientThatJoinsGetsTheActions(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	g := apitest.Serve(t, apitest.Script(failedCommand("FAIL x"), daemontest.Until(gate), daemontest.Finish("It fails.")))
	details := []string{"X-OpenHands-Details", "actions", "Idempotency-Key", "one"}
	first := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), details...))
	defer first.Body.Close()
	second := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), details...))
	close(gate)
	apitest.Contains(t, "the second stream", g.Finish(second).Body, `"output":"FAIL x"`)
	apitest.Contains(t, "the first stream", g.Finish(first).Body, `"output":"FAIL x"`)
}

func TestUnknownDetailsAreRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "X-OpenHands-Details", "everything"), http.StatusBadRequest, "invalid_value", "X-OpenHands-Details")
}

// Some clients cannot read a line longer than this.
func TestFramesWithLargeActionsStaySmall(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"x", "\x1b", "\x00", "\"", "世", "\u2028", "\xff", "\n", "😀"} {
		g := apitest.Serve(t, apitest.Script(failedCommand(strings.Repeat(letter, 100_000)), daemontest.Finish("done")))
		res := g.Chat(apitest.Ask("go", apitest.Streamed), "X-OpenHands-Details", "actions")
		for frame := range strings.SplitSeq(res.Body, "\n\n") {
			if len(frame) >= openai.MaxFrame {
				t.Errorf("%q: a frame of %d bytes", letter, len(frame))
			}
		}
		apitest.Parse(t, res)
	}
}

func TestPhasesComeWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Phase(event.Phase{Name: event.PhaseReading, Prompt: 1925, Read: 512}), daemontest.Finish("Yes.")))
	for _, wanted := range []bool{true, false} {
		headers := []string{}
		if wanted {
			headers = append(headers, "X-OpenHands-Phases", "show")
		}
		f := apitest.Parse(t, g.Chat(apitest.Ask("a question", apitest.Streamed), headers...))
		var seen []string
		for _, c := range f.Chunks {
			if p, ok := c.Extension["phase"].(map[string]any); ok {
				seen = append(seen, fmt.Sprint(p["name"], " ", p["prompt_tokens"], " ", p["read_tokens"]))
			}
		}
		want := ""
		if wanted {
			want = "reading 1925 512"
		}
		apitest.Equal(t, "phases", strings.Join(seen, "|"), want)
		apitest.Equal(t, "progress", f.Reasoning(), "")
		apitest.Equal(t, "text", f.Text(), "Yes.")
	}
}

// A repeated request to the provider is a line for every client, and an object for those that
// want details or phases.
func TestARepeatedRequestComesWithDetailsAndPhases(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Retry(event.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "it is busy"}), daemontest.Finish("Yes.")))
	for header, value := range map[string]string{"X-OpenHands-Details": "actions", "X-OpenHands-Phases": "show", "X-OpenHands-Repeat": "run"} {
		f := apitest.Parse(t, g.Chat(apitest.Ask("a question", apitest.Streamed), header, value))
		apitest.Equal(t, "progress", f.Reasoning(), "it is busy; attempt 2 of 5 in 16 s\n")
		var seen []string
		for _, c := range f.Chunks {
			if r, ok := c.Extension["retry"].(map[string]any); ok {
				seen = append(seen, fmt.Sprint(r["attempt"], " of ", r["of"], ": ", r["cause"]))
			}
		}
		want := "2 of 5: it is busy"
		if header == "X-OpenHands-Repeat" {
			want = ""
		}
		apitest.Equal(t, "repeated requests with "+header, strings.Join(seen, "|"), want)
	}
}

// A client that knows no phases is told why nothing comes for a minute.
func TestTheLoadingOfAModelIsProgress(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Phase(event.Phase{Name: event.PhaseLoading}), daemontest.Finish("Yes.")))
	apitest.Equal(t, "progress", apitest.Parse(t, g.Chat(apitest.Ask("a question", apitest.Streamed))).Reasoning(), "loading the model\n")
	apitest.Equal(t, "progress", apitest.Parse(t, g.Chat(apitest.Ask("a question", apitest.Streamed), "X-OpenHands-Phases", "show")).Reasoning(), "")
}

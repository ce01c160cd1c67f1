package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/gateway"
)

const conversation = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"

func TestAnAnswerComesInPieces(t *testing.T) {
	t.Parallel()
	c, _ := start(t, script(
		daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."),
		daemontest.Tool("go test ./..."), daemontest.Spend(0.25), daemontest.Finish("They pass."),
	))
	a := ask(t.Context(), c, gateway.Question{})
	if a.err != nil {
		t.Fatal(a.err)
	}
	if diff := cmp.Diff([]string{"Started", "Text", "Progress", "Text", "Done"}, a.order); diff != "" {
		t.Error(diff)
	}
	if a.text != "I will look.\n\nThey pass." || len(a.progress) != 1 || a.progress[0] != "$ go test ./..." {
		t.Errorf("text %q, progress %q", a.text, a.progress)
	}
	cost := 0.25
	want := gateway.Done{
		Finish: "stop", RunStatus: "finished", TextBefore: len("I will look.\n\n"),
		Usage: gateway.Usage{Prompt: 100, Cached: 40, Completion: 20, Reasoning: 5, Cost: &cost},
	}
	if diff := cmp.Diff(want, *a.done); diff != "" {
		t.Error(diff)
	}
	if s := a.started[0]; s.Conversation == "" || s.RequestID == "" || s.Replayed || s.Ignored != nil {
		t.Errorf("started = %+v", s)
	}
}

func TestActionsComeWithTheirResultsInPlaceOfLines(t *testing.T) {
	t.Parallel()
	c, _ := start(t, script(
		daemontest.Call("terminal", map[string]any{"command": "go test"}, map[string]any{"content": []map[string]string{{"type": "text", "text": "FAIL"}}, "exit_code": 1}),
		daemontest.Fill(5203, 128_000), daemontest.Finish("It fails."),
	))
	a := ask(t.Context(), c, gateway.Question{Details: true})
	if a.err != nil || len(a.calls) != 2 || a.progress != nil {
		t.Fatalf("answer = %+v", a)
	}
	exit, seconds := 1, 0.0
	begun := gateway.Call{ID: a.calls[0].ID, State: "running", Tool: "terminal", Kind: "command", Line: "$ go test", Input: "go test"}
	ended := begun
	ended.State, ended.Input, ended.Output, ended.ExitCode, ended.Seconds = "failed", "", "FAIL", &exit, &seconds
	if diff := cmp.Diff([]gateway.Call{begun, ended}, a.calls); diff != "" {
		t.Error(diff)
	}
	if want := (gateway.Context{Tokens: 5203, Window: 128_000}); a.done.Context != want {
		t.Errorf("context %+v, want %+v", a.done.Context, want)
	}
}

func TestAQuestionReachesTheAgentWhole(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("ok"))
	c, _ := start(t, b)
	const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	q := gateway.Question{Model: "openhands_cheap", Conversation: conversation, System: "Be brief.", Text: "what is it?", Images: []string{image}}
	if a := ask(t.Context(), c, q); a.err != nil || a.started[0].Conversation != conversation {
		t.Fatalf("answer = %+v", a)
	}
	if diff := cmp.Diff([]agentapi.Message{{Text: "what is it?", Images: []string{image}}}, b.Prompts()); diff != "" {
		t.Error(diff)
	}
	opened := b.Opened()[0]
	if opened.ID != conversation || opened.Profile != "cheap" || opened.System != "Be brief." {
		t.Errorf("opened conversation = %+v", opened)
	}
	// Another system text has no effect on a conversation that exists.
	q.System = "Be long."
	if a := ask(t.Context(), c, q); a.err != nil || !cmp.Equal(a.started[0].Ignored, []string{"system"}) {
		t.Errorf("answer = %+v", a)
	}
}

func TestTheTimeLimitIsTheGateways(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, script(daemontest.Hang()))
		began := time.Now()
		a := ask(t.Context(), c, gateway.Question{Timeout: 1500 * time.Millisecond})
		if e := wantError(t, a.err, gateway.Failed); e.Code != "run_timeout" || e.Conversation == "" {
			t.Errorf("error = %+v", e)
		}
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

func TestSilenceOfTheAgentIsNoSilenceOfTheGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, script(daemontest.Wait(time.Hour), daemontest.Finish("done")))
		a := ask(t.Context(), c, gateway.Question{})
		if a.err != nil || a.text != "done" || len(a.lost) > 0 || len(a.waits) < 800 {
			t.Errorf("text = %q, error %v, lost %d times, %d signs of life", a.text, a.err, len(a.lost), len(a.waits))
		}
	})
}

func TestTheQueueIsToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, script(daemontest.Wait(5*time.Second), daemontest.Finish("done")), func(c *daemon.Config) { c.MaxRuns = 1 })
		first := make(chan answer)
		go func() { first <- ask(t.Context(), c, gateway.Question{Text: "first"}) }()
		synctest.Wait()
		a := ask(t.Context(), c, gateway.Question{Text: "second"})
		if diff := cmp.Diff([]int{1, 1, 0}, a.waits); diff != "" {
			t.Error(diff)
		}
		<-first
	})
}

func TestWhatWaitsIsConfirmed(t *testing.T) {
	t.Parallel()
	for decision, want := range map[gateway.Decision]string{gateway.Accept: "built", gateway.Reject: "so not"} {
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "build" {
				return []daemontest.Step{daemontest.Say("May I?"), daemontest.Confirm("make"), daemontest.Finish("built")}
			}
			return []daemontest.Step{daemontest.Finish("so not")}
		}
		c, _ := start(t, b)
		a := ask(t.Context(), c, gateway.Question{Conversation: conversation, Text: "build"})
		if a.err != nil || a.done.RunStatus != "waiting_for_confirmation" || a.done.Notice == "" {
			t.Fatalf("answer = %+v", a)
		}
		if diff := cmp.Diff([]gateway.Action{{Tool: "terminal", Line: "$ make"}}, a.done.Waiting); diff != "" {
			t.Error(diff)
		}
		if a.text != "May I?\n\n"+a.done.Notice {
			t.Errorf("text %q, notice %q", a.text, a.done.Notice)
		}
		if a := ask(t.Context(), c, gateway.Question{Conversation: conversation, Decision: decision}); a.err != nil || a.text != want {
			t.Errorf("%s: text = %q, error %v", decision, a.text, a.err)
		}
	}
}

func TestTheModelsAreListed(t *testing.T) {
	t.Parallel()
	c, _ := start(t, script())
	models, err := c.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range models {
		ids = append(ids, m.ID)
		if m.Name == "" || m.Description == "" || m.Created.IsZero() {
			t.Errorf("model = %+v", m)
		}
	}
	if diff := cmp.Diff([]string{"openhands", "openhands_default", "openhands_cheap"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestARunIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"context", "iteration"} {
		synctest.Test(t, func(t *testing.T) {
			b := script(daemontest.Say("So far."), daemontest.Hang())
			c, _ := start(t, b)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			began := time.Now()
			for p, err := range c.Ask(ctx, gateway.Question{Model: "openhands", Text: "hi"}) {
				if _, is := p.(gateway.Text); is && how == "iteration" {
					break
				} else if is {
					cancel(context.DeadlineExceeded)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the answer ended with: %v, want the cause of the context", err)
				}
			}
			synctest.Wait()
			if n := b.Interrupts(); n != 1 || time.Since(began) > 0 {
				t.Errorf("%s: %d interrupts after %s", how, n, time.Since(began))
			}
		})
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps []daemontest.Step
		down  error
		model string
		key   string
		kind  gateway.Kind
		code  string
	}{
		"run":         {steps: []daemontest.Step{daemontest.Say("So far."), daemontest.Fail("SomeError", "it broke")}, kind: gateway.Failed, code: "run_error"},
		"model":       {steps: []daemontest.Step{daemontest.Fail("LLMAuthenticationError", "no key")}, kind: gateway.Failed, code: "llm_error"},
		"lost":        {steps: []daemontest.Step{daemontest.Vanish()}, kind: gateway.Failed, code: "agent_server_lost"},
		"unreachable": {down: daemontest.Unavailable(), kind: gateway.Unreachable, code: "agent_server_unavailable"},
		"no model":    {model: "gpt-4", kind: gateway.Refused, code: "model_not_found"},
		"wrong key":   {key: "sk-wrong", kind: gateway.Locked, code: "invalid_api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := script(tc.steps...)
			b.SetDown(tc.down)
			n := newNetwork()
			n.serve(t, b)
			c := n.client(t, func(c *gateway.Config) {
				if tc.key != "" {
					c.Key = tc.key
				}
			})
			a := ask(t.Context(), c, gateway.Question{Model: tc.model})
			e := wantError(t, a.err, tc.kind)
			if e.Code != tc.code || len(a.lost) > 0 {
				t.Errorf("error = %+v, lost %d times", e, len(a.lost))
			}
			if tc.steps != nil && e.Conversation == "" {
				t.Errorf("%+v does not name the conversation", e)
			}
		})
	}
}

func TestAFullGatewayIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, script(daemontest.Wait(time.Second)), func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 1, -1 })
		first := make(chan answer)
		go func() { first <- ask(t.Context(), c, gateway.Question{Text: "first"}) }()
		synctest.Wait()
		if e := wantError(t, ask(t.Context(), c, gateway.Question{Text: "second"}).err, gateway.Busy); e.RetryAfter != 4*time.Second {
			t.Errorf("error = %+v", e)
		}
		<-first
	})
}

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// twice is a profile that asks twice, without waiting.
func twice(p *llm.Profile) { p.NumRetries = 2 }

// scripted is the replies of a script.
func scripted(t *testing.T, script string) []llmtest.Reply {
	t.Helper()
	replies, err := llmtest.Script(script)
	if err != nil {
		t.Fatal(err)
	}
	return replies
}

// Whatever form a provider gives an answer, the agent does what it says, once.
func TestAnswersOfAnyFormAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, habit := range append(llmtest.Habits(), "", "keepalive empty-choices no-done usage-always reasoning one-index") {
		t.Run(string(habit), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withRealModels(twice))
			w.llm.Reply(scripted(t, `[[think Let me look.]] [[say I look.]] [[tool terminal {"command":"echo one"}]] [[tool terminal {"command":"echo two"}]]`+
				` [[habit `+string(habit)+`]] then [[finish Done.]] [[habit `+string(habit)+`]]`)...)
			res := w.say("go")
			if res.Outcome != turn.Finished || res.Answer != "Done." || res.Actions != 2 {
				t.Errorf("result %+v", res)
			}
			w.expect("SP U A(terminal) A(terminal) O O A(finish) O")
			if n := len(w.llm.Requests()); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			var thought, said string
			for _, e := range w.log() {
				if a, ok := e.Body.(*event.Action); ok && thought == "" {
					thought, said = a.ReasoningContent, event.PlainText(a.Thought)
				}
			}
			if thought != "Let me look." || said != "I look." {
				t.Errorf("the agent thought %q and said %q", thought, said)
			}
		})
	}
}

// Ids that repeat, of calls and of answers, mix up neither calls nor turns.
func TestIDsThatRepeatMixNothingUp(t *testing.T) {
	t.Parallel()
	for _, ids := range []string{"[[callid terminal:0]]", "[[id chatcmpl-7]]", "[[callid 0]] [[id chatcmpl-7]]"} {
		w := newWorld(t, withRealModels(twice))
		w.llm.Reply(scripted(t, `[[tool terminal {"command":"echo one"}]] `+ids+` then [[tool terminal {"command":"echo two"}]] `+ids+` then [[finish first]] `+ids+
			` then [[tool terminal {"command":"echo three"}]] `+ids+` then [[finish second]] `+ids)...)
		for _, want := range []string{"first", "second"} {
			if res := w.say("go"); res.Answer != want {
				t.Errorf("%s: result %+v", ids, res)
			}
		}
		var got []string
		requests := w.llm.Requests()
		for _, m := range requests[len(requests)-1].Messages {
			for _, c := range m.Calls {
				got = append(got, c.Args)
			}
			if m.Role == "tool" {
				got = append(got, strings.TrimSpace(strings.Split(m.Text, "\n")[0]))
			}
		}
		want := []string{`{"command":"echo one"}`, "one", `{"command":"echo two"}`, "two", `{"message":"first"}`, "first", `{"command":"echo three"}`, "three"}
		if len(requests) != 5 || !slices.Equal(compact(got), compact(want)) {
			t.Errorf("%s: %d requests, the last shows %q", ids, len(requests), got)
		}
	}
}

// compact leaves of the calls and results what was echoed.
func compact(list []string) (out []string) {
	for _, s := range list {
		if strings.Contains(s, "one") || strings.Contains(s, "two") || strings.Contains(s, "three") {
			out = append(out, strings.ReplaceAll(s, " ", ""))
		}
	}
	return out
}

// An answer that breaks in any way is asked for once more, and nothing of it is
// done.
func TestBrokenAnswersAreAskedForAgain(t *testing.T) {
	t.Parallel()
	broken := []string{
		"[[drop]]", "[[cut]]", "[[end]]", "[[garble]]", "[[error 502 gone]]", "[[error overload-anthropic]]", "[[error rate-openai]]", "[[html 502]]",
		"[[habit no-done no-finish]]", "[[habit whole]] [[cut]]", "[[habit whole]] [[garble]]", "[[habit gzip]] [[cut]]",
	}
	for _, f := range llmtest.Failures() {
		if f.Class == llmtest.RateClass || f.Class == llmtest.OverloadClass || f.Class == llmtest.TimeoutClass {
			broken = append(broken, "[[fail "+f.Name+"]]")
		}
	}
	for _, script := range broken {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withRealModels(twice))
			if !strings.Contains(script, "[[fail") {
				script = `[[say Half.]] [[tool terminal {"command":"echo broken"}]] ` + script
			}
			w.llm.Reply(scripted(t, script+" then [[say Whole.]]")...)
			if res := w.say("go"); res.Outcome != turn.Finished || res.Answer != "Whole." {
				t.Errorf("result %+v", res)
			}
			w.expect("SP U M")
		})
	}
}

// A provider that refuses for good ends the run: with the right class, and
// after as many requests as could have helped.
func TestFailuresEndTheRun(t *testing.T) {
	t.Parallel()
	type end struct {
		code, kind string
		requests   int
	}
	want := map[llmtest.Class]end{
		llmtest.CreditClass:   {llm.CodeRateLimit, "quota", 1},
		llmtest.RateClass:     {llm.CodeRateLimit, "rate_limit", 2},
		llmtest.KeyClass:      {llm.CodeAuthentication, "auth", 1},
		llmtest.ModelClass:    {llm.CodeNotFound, "config", 1},
		llmtest.TimeoutClass:  {llm.CodeTimeout, "transient", 2},
		llmtest.OverloadClass: {llm.CodeUnavailable, "transient", 2},
		llmtest.RequestClass:  {llm.CodeBadRequest, "config", 1},
	}
	for _, f := range llmtest.Failures() {
		want, ok := want[f.Class]
		if !ok {
			continue
		}
		if f.Class == llmtest.ModelClass && f.Status != 404 {
			want.code = llm.CodeBadRequest
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withRealModels(twice))
			w.llm.On(llmtest.Model("test"), f.Reply())
			res := w.say("go")
			w.expect("SP U X(" + want.code + ")")
			got := lastOf[*event.ConversationError](t, w.log())
			if got.Classification == nil || got.Classification.Kind != want.kind || res.Outcome != turn.Failed || res.Cause == nil || res.Cause.Kind != turn.CauseLLM && want.kind != "config" {
				t.Errorf("error = %+v, want the kind %q; result = %+v, cause = %+v", got, want.kind, res, res.Cause)
			}
			if n := len(w.llm.Requests()); n != want.requests {
				t.Errorf("%d requests, want %d", n, want.requests)
			}
		})
	}
}

// A full context is condensed in whatever words it is told, and the run goes on.
func TestAFullContextIsCondensedInAnyWords(t *testing.T) {
	t.Parallel()
	for _, f := range llmtest.Failures() {
		if f.Class != llmtest.ContextClass {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withCondenser(80, 2), withRealModels(twice))
			for i := range 3 {
				w.llm.Reply(terminal(fmt.Sprintf("echo call %d", i)))
			}
			w.llm.Reply(f.Reply(), llmtest.Text("THE SUMMARY"), llmtest.Finish("Done."))
			if res := w.say("go"); res.Outcome != turn.Finished || res.Answer != "Done." {
				t.Errorf("result %+v", res)
			}
			if got := notation(w.log()); !slices.Contains(got, "C") {
				t.Errorf("events %q", got)
			}
		})
	}
}

// A provider that says the same for ever costs a bounded number of requests.
func TestNoProviderMakesARunEndless(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"[[fail context]]":             "",
		"[[fail context-vllm-output]]": "",
		"[[error 500 gone]]":           llm.CodeUnavailable,
		"[[drop]]":                     llm.CodeUnavailable,
		"[[empty]]":                    "",
		"[[empty]] [[habit whole]]":    "",
		`[[tool terminal {"command":"echo again"}]] [[callid terminal:0]] [[id r]]`: "",
		`[[say Hm.]] [[tool nothing {}]] [[callid 0]]`:                              "",
		`[[tool terminal {"command":]] [[callid 0]]`:                                "",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withRealModels(twice))
			w.llm.On(llmtest.Model("test"), scripted(t, script)...)
			res := w.say("go")
			const most = 20
			if n := len(w.llm.Requests()); res.Outcome == turn.Finished || n > most {
				t.Errorf("%d requests, result %+v", n, res)
			}
			if want != "" {
				if diff := cmp.Diff(want, res.Cause.Code); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

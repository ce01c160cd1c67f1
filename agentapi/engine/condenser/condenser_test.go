package condenser_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// conversation is a system prompt, a message, and calls with their results.
func conversation(calls int) *view.View {
	v := view.New(nil, nil)
	v.Append(event.New("e0", "", event.SourceAgent, "", &event.SystemPrompt{SystemPrompt: event.Text("system")}))
	ask(v, "do it")
	return more(v, calls)
}

// more adds calls with their results.
func more(v *view.View, calls int) *view.View {
	add := func(source string, b event.Body) {
		v.Append(event.New(fmt.Sprint("e", v.Len()), "", source, "", b))
	}
	for range calls {
		id := fmt.Sprint("c", v.Len())
		add(event.SourceAgent, &event.Action{
			ToolName: "t", ToolCallID: id, LLMResponseID: id, Action: json.RawMessage(`{}`),
			ToolCall: event.ToolCall{ID: id, Name: "t", Arguments: strings.Repeat("x", 400)},
		})
		add(event.SourceEnvironment, &event.Observation{ToolName: "t", ToolCallID: id, Observation: json.RawMessage(`{"content":[]}`)})
	}
	return v
}

// ask adds a message of the user, with pictures.
func ask(v *view.View, text string, images ...string) {
	content := []event.Content{event.Text(text)}
	if len(images) > 0 {
		content = append(content, event.Images(images...))
	}
	v.Append(event.New(fmt.Sprint("e", v.Len()), "", event.SourceUser, "", &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: content}}))
}

// span is the numbers from a up to b, which is excluded.
func span(a, b int) []int {
	var list []int
	for i := a; i < b; i++ {
		list = append(list, i)
	}
	return list
}

func TestNoPlanForgetsWhatTheUserAsksNow(t *testing.T) {
	t.Parallel()
	picture := "data:image/png;base64," + strings.Repeat("A", 1<<20)
	hard := condenser.Need{Tokens: 10}
	for name, tt := range map[string]struct {
		build func() *view.View
		need  condenser.Need
		want  condenser.Cut
	}{
		"a question at the end": {
			func() *view.View { v := conversation(6); ask(v, "what is this?", picture); return v },
			hard,
			condenser.Cut{Gone: span(2, 14), Offset: 2},
		},
		"a question with work on it": {
			func() *view.View { v := conversation(3); ask(v, "what is this?", picture); return more(v, 4) },
			hard,
			condenser.Cut{Gone: append(span(2, 8), span(9, 17)...), Offset: 3},
		},
		"two messages in a row": {
			func() *view.View { v := conversation(3); ask(v, "look", picture); ask(v, "what is this?"); return v },
			hard,
			condenser.Cut{Gone: span(2, 8), Offset: 2},
		},
		"only as many events as there must go": {
			func() *view.View { v := conversation(3); ask(v, "go"); return more(v, 10) },
			condenser.Need{Wanted: true},
			condenser.Cut{Gone: append(span(2, 8), span(9, 19)...), Offset: 3},
		},
	} {
		got, ok := condenser.Settings{MaxSize: 80, KeepFirst: 2}.Plan(tt.build(), tt.need, 1000)
		if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
	}
}

func TestImagesWeighNoMoreThanTheModelCounts(t *testing.T) {
	t.Parallel()
	v := conversation(10)
	ask(v, "what is this?", "data:image/png;base64,"+strings.Repeat("A", 1<<20))
	v = more(v, 10)
	// Head and picture are about 1,000 tokens, a call is 100.
	cut, ok := condenser.Settings{MaxSize: 80, KeepFirst: 2}.Plan(v, condenser.Need{Tokens: 4000}, 1000)
	if last := cut.Gone[len(cut.Gone)-1]; !ok || last != 24 {
		t.Errorf("of %d events go %v", v.Len(), cut.Gone)
	}
}

func TestEverythingIsAllButTheSystemPromptAndTheQuestion(t *testing.T) {
	t.Parallel()
	v := conversation(2)
	cut, ok := condenser.Everything(v)
	if diff := cmp.Diff(condenser.Cut{Gone: span(2, 6), Offset: 2}, cut); diff != "" || !ok {
		t.Errorf("there is a cut: %v (-want +got):\n%s", ok, diff)
	}
	summary := "sum"
	c := &event.Condensation{Summary: &summary, SummaryOffset: &cut.Offset}
	for _, i := range cut.Gone {
		c.ForgottenEventIDs = append(c.ForgottenEventIDs, v.Event(i).ID)
	}
	v.Append(event.New("c", "", event.SourceEnvironment, "", c))
	if cut, ok := condenser.Everything(v); ok {
		t.Errorf("a summary alone is summed up again: %v", cut)
	}
}

func TestPlanKeepsTheHeadAndHalfOfTheRest(t *testing.T) {
	t.Parallel()
	set := condenser.Settings{MaxSize: 20, KeepFirst: 2}
	v := conversation(10)
	need := set.NeedOf(v, 0, 0)
	if !need.Events || need.Hard() {
		t.Fatalf("need %+v", need)
	}
	cut, ok := set.Plan(v, need, 0)
	// 22 events; the tail is 20/2-2-1 = 7, and a cut parts no call from its result.
	if diff := cmp.Diff(condenser.Cut{Gone: span(2, 16), Offset: 2}, cut); diff != "" || !ok {
		t.Errorf("Plan is %v (-want +got):\n%s", ok, diff)
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	v := conversation(3)
	for name, tt := range map[string]struct {
		set           condenser.Settings
		tokens, limit int64
		want          condenser.Need
	}{
		"none":              {condenser.Settings{}, 1e9, 1, condenser.Need{}},
		"nothing to do":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 10, 100, condenser.Need{}},
		"unknown limit":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 1e9, 0, condenser.Need{}},
		"model's limit":     {condenser.Settings{MaxSize: 100, KeepFirst: 2}, 101, 100, condenser.Need{Tokens: 100}},
		"the smaller limit": {condenser.Settings{MaxSize: 100, KeepFirst: 2, MaxTokens: 50}, 60, 100, condenser.Need{Tokens: 50}},
		"own limit only":    {condenser.Settings{MaxSize: 100, KeepFirst: 2, MaxTokens: 50}, 60, 0, condenser.Need{Tokens: 50}},
		"events":            {condenser.Settings{MaxSize: 7, KeepFirst: 1}, 0, 0, condenser.Need{Events: true}},
	} {
		if got := tt.set.NeedOf(v, tt.tokens, tt.limit); got != tt.want {
			t.Errorf("%s: NeedOf = %+v, want %+v", name, got, tt.want)
		}
	}
	v.Append(event.New("r", "", event.SourceEnvironment, "", &event.CondensationRequest{}))
	if need := (condenser.Settings{MaxSize: 100, KeepFirst: 2}).NeedOf(v, 0, 0); !need.Wanted || !need.Hard() {
		t.Errorf("a request is no need: %+v", need)
	}
}

func TestEveryPlanIsALegalCutThatMakesRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := conversation(rapid.IntRange(0, 40).Draw(t, "calls"))
		for i := range rapid.IntRange(0, 2).Draw(t, "messages") {
			ask(v, fmt.Sprint("m", i))
			v = more(v, rapid.IntRange(0, 20).Draw(t, "more"))
		}
		set := condenser.Settings{
			MaxSize: rapid.IntRange(4, 60).Draw(t, "max"), KeepFirst: rapid.IntRange(0, 5).Draw(t, "keep"),
		}
		need := condenser.Need{
			Wanted: rapid.Bool().Draw(t, "wanted"), Events: rapid.Bool().Draw(t, "events"),
			Tokens: rapid.Int64Range(0, 5000).Draw(t, "tokens"),
		}
		cut, ok := set.Plan(v, need, rapid.Int64Range(0, 2000).Draw(t, "image"))
		if !ok {
			return
		}
		cuts := map[int]bool{}
		for _, c := range v.Cuts() {
			cuts[c] = true
		}
		from, to := v.Asked()
		start, end := cut.Gone[0], cut.Gone[len(cut.Gone)-1]+1
		want := slices.DeleteFunc(span(start, end), func(i int) bool { return i >= from && i < to })
		if !cuts[start] || !cuts[end] || start < max(set.KeepFirst, 1) || end > v.Len() || !slices.Equal(want, cut.Gone) {
			t.Fatalf("Plan = %v of %d, legal cuts %v, asked %d to %d", cut, v.Len(), v.Cuts(), from, to)
		}
		if cut.Offset < start && cut.Offset != from || cut.Offset > start+to-from {
			t.Fatalf("the summary of %v stands at %d", cut.Gone, cut.Offset)
		}
	})
}

func TestRequestShowsEventsInPart(t *testing.T) {
	t.Parallel()
	v := conversation(2)
	for _, brief := range []bool{false, true} {
		m := condenser.Request(v, condenser.Cut{Gone: span(0, v.Len())}, 100, brief)
		if len(m) != 2 || m[0].Role != "system" || m[1].Role != "user" {
			t.Fatalf("request %+v", m)
		}
		task, text := event.PlainText(m[0].Content), event.PlainText(m[1].Content)
		if strings.Contains(task, "do it") || !strings.Contains(text, "do it") || strings.Contains(text, "<event>\nsystem") || strings.Contains(text, task) {
			t.Errorf("request %q with %q", task, text)
		}
		if strings.Contains(text, strings.Repeat("x", 101)) {
			t.Error("an event is shown in full")
		}
	}
}

func TestNoCutForgetsTheSystemPrompt(t *testing.T) {
	t.Parallel()
	for name, need := range map[string]condenser.Need{
		"too many events": {Events: true}, "asked for": {Wanted: true}, "too long": {Tokens: 10}, "all": {Events: true, Wanted: true, Tokens: 1},
	} {
		for _, keep := range []int{0, 1} {
			cut, ok := condenser.Settings{MaxSize: 4, KeepFirst: keep}.Plan(conversation(6), need, 0)
			if !ok || cut.Gone[0] == 0 || cut.Offset == 0 {
				t.Errorf("%s, keep_first %d: %v, %v", name, keep, cut, ok)
			}
		}
	}
}

// say adds an answer of the agent.
func say(v *view.View, text string) {
	v.Append(event.New(fmt.Sprint("e", v.Len()), "", event.SourceAgent, "", &event.Message{
		LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(text)}},
	}))
}

func TestEarlierLeavesTheNewestQuestionAndItsAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func() *view.View
		gone []int
		at   int
	}{
		"nothing was said": {func() *view.View { return conversation(0) }, nil, 0},
		"one answer":       {func() *view.View { v := conversation(0); say(v, "a"); return v }, nil, 0},
		"two turns":        {func() *view.View { v := conversation(0); say(v, "a"); ask(v, "b"); say(v, "c"); return v }, []int{1, 2}, 1},
		"work for one":     {func() *view.View { v := conversation(2); say(v, "a"); return v }, []int{2, 3, 4, 5}, 2},
		"work for the second": {func() *view.View {
			v := conversation(1)
			say(v, "a")
			ask(v, "b")
			more(v, 1)
			say(v, "c")
			return v
		}, []int{1, 2, 3, 4, 6, 7}, 2},
		"no answer yet": {func() *view.View { v := conversation(1); ask(v, "b"); return v }, []int{1, 2, 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := condenser.Earlier(tc.make())
			if ok != (tc.gone != nil) {
				t.Fatalf("Earlier() = %+v, %v", c, ok)
			}
			if ok && (!slices.Equal(c.Gone, tc.gone) || c.Offset != tc.at) {
				t.Errorf("Earlier() = %+v, want %v at %d", c, tc.gone, tc.at)
			}
		})
	}
}

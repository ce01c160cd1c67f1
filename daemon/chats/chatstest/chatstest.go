// Package chatstest has what registries over the same chats do as tests, at one gateway or
// at many, and a store in memory that many share.
package chatstest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Run checks pairs of registries over the same chats, which may be one registry.
func Run(t *testing.T, open func(*testing.T) (a, b *chats.Registry)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b *chats.Registry){
		"AChatGoesOnAtTheOther":              goesOn,
		"AnEditIsACopy":                      edited,
		"AStoppedAnswerIsKnown":              stopped,
		"ARequestThatWaitsIsKnown":           waits,
		"ARequestWithoutARunWasNeverThere":   refused,
		"ARunThatNeverBeganWasNeverSaid":     never,
		"RequestsAtTheSameTimeFindOneAnswer": together,
		"AChatThatGetsItsNameLateIsFound":    namedLate,
		"AnswersOfBothStay":                  answers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			check(t, a, b)
		})
	}
}

func newID() chats.ID {
	return chats.ID{Token: "t", Model: "m", Source: "x-openwebui-chat-id", Value: uuid.New(), Rules: chats.Rules{Whole: true}}
}

func said(texts ...string) []openai.Turn {
	var history []openai.Turn
	for i, text := range texts {
		history = append(history, openai.Turn{Role: []string{"user", "assistant"}[i%2], Text: text})
	}
	return history
}

// enter decides for a request as a gateway does: again where another one was faster.
func enter(t *testing.T, r *chats.Registry, req chats.Request, started bool) *chats.Visit {
	t.Helper()
	for {
		v, err := r.Enter(req)
		if err != nil {
			t.Fatalf("Enter: %v", err)
		}
		if err = v.Reserve(); err == nil {
			v.Settle(started)
			return v
		}
		v.Close()
	}
}

// begin opens the conversation of a visit, and begins its run.
func begin(v *chats.Visit) {
	v.Compose(agentapi.Info{Created: v.Planned() == "new" || v.Planned() == "quoted", Workspace: "/w"}, v.From != "")
	v.Begin(turn.Baseline{After: uuid.New()})
}

// say makes a request of a chat and plays its run to the end.
func say(t *testing.T, r *chats.Registry, id chats.ID, history []openai.Turn, text, answer string) *chats.Visit {
	t.Helper()
	v := enter(t, r, chats.Request{ID: id, History: history, Text: text}, true)
	defer v.Close()
	begin(v)
	v.Show(answer)
	v.End(true, false)
	v.Shown(v.Conversation)
	return v
}

// planned returns what a registry would make of a request.
func planned(t *testing.T, r *chats.Registry, id chats.ID, history []openai.Turn, text string) *chats.Visit {
	t.Helper()
	v := enter(t, r, chats.Request{ID: id, History: history, Text: text}, false)
	v.Close()
	return v
}

func wants(t *testing.T, what string, v *chats.Visit, kind, conversation string) {
	t.Helper()
	at := v.Conversation
	if kind == string(chats.Forked) {
		at = v.Origin
	}
	if v.Planned() != kind || conversation != "" && at != conversation {
		t.Errorf("%s: %s of %s, want %s of %s", what, v.Planned(), at, kind, conversation)
	}
}

func goesOn(t *testing.T, a, b *chats.Registry) {
	id := newID()
	first := say(t, a, id, nil, "one", "1")
	second := say(t, b, id, said("one", "1"), "two", "2")
	wants(t, "the second message", second, "continued", first.Conversation)
	wants(t, "the third", planned(t, a, id, said("one", "1", "two", "2"), "three"), "continued", first.Conversation)
	if second.Workspace != "/w" {
		t.Errorf("it works in %q", second.Workspace)
	}
	other := id
	other.Token = "u"
	wants(t, "another token", planned(t, b, other, said("one", "1"), "two"), "quoted", "")
}

func edited(t *testing.T, a, b *chats.Registry) {
	id := newID()
	first := say(t, a, id, nil, "one", "1")
	say(t, b, id, said("one", "1"), "two", "2")
	fork := say(t, a, id, said("one", "1"), "two, edited", "2e")
	wants(t, "the edit", fork, "forked", first.Conversation)
	if fork.From == "" {
		t.Error("the copy has no end")
	}
	wants(t, "after the edit", planned(t, b, id, said("one", "1", "two, edited", "2e"), "three"), "continued", fork.Conversation)
	wants(t, "back to the old branch", planned(t, b, id, said("one", "1", "two", "2"), "three"), "continued", first.Conversation)
}

func stopped(t *testing.T, a, b *chats.Registry) {
	id := newID()
	v := enter(t, a, chats.Request{ID: id, Text: "one"}, true)
	begin(v)
	v.Show("half an ans")
	v.End(true, true)
	v.Close()
	next := enter(t, b, chats.Request{ID: id, History: said("one", "half an"), Text: "two"}, true)
	wants(t, "after a stop", next, "continued", v.Conversation)
	text, _, _ := next.Compose(agentapi.Info{}, false)
	if text == "" {
		t.Error("the conversation is not told that its answer was stopped")
	}
	next.End(false, false)
	next.Close()
}

func waits(t *testing.T, a, b *chats.Registry) {
	id := newID()
	first := enter(t, a, chats.Request{ID: id, Text: "one"}, true)
	wants(t, "beside one that waits", planned(t, b, id, said("one"), "two"), "continued", first.Conversation)
	begin(first)
	wants(t, "beside one that runs", planned(t, b, id, said("one"), "two"), "continued", first.Conversation)
	first.End(true, false)
	first.Close()
}

func refused(t *testing.T, a, b *chats.Registry) {
	id := newID()
	for _, r := range []*chats.Registry{a, b, a} {
		wants(t, "a request", planned(t, r, id, nil, "one"), "new", "")
	}
	first := say(t, a, id, nil, "one", "1")
	planned(t, b, id, said("one", "1"), "two")
	wants(t, "the next", planned(t, a, id, said("one", "1"), "another"), "continued", first.Conversation)
}

func never(t *testing.T, a, b *chats.Registry) {
	id := newID()
	first := say(t, a, id, nil, "one", "1")
	v := enter(t, b, chats.Request{ID: id, History: said("one", "1"), Text: "two"}, true)
	begin(v)
	v.End(false, false)
	v.Close()
	for _, r := range []*chats.Registry{a, b} {
		wants(t, "again", planned(t, r, id, said("one", "1"), "two"), "continued", first.Conversation)
	}
}

// together sends the first messages of a chat from several tabs, and then the next ones.
func together(t *testing.T, a, b *chats.Registry) {
	id := newID()
	const n = 6
	visits := make([]*chats.Visit, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			visits[i] = enter(t, []*chats.Registry{a, b}[i%2], chats.Request{ID: id, Text: fmt.Sprint("hello ", i)}, true)
		})
	}
	wg.Wait()
	for _, v := range visits {
		begin(v)
	}
	for i, v := range visits {
		v.Show(fmt.Sprint("answer ", i))
		v.End(true, false)
		v.Shown(v.Conversation)
		v.Close()
	}
	for i, v := range visits {
		next := planned(t, []*chats.Registry{b, a}[i%2], id, said(fmt.Sprint("hello ", i), fmt.Sprint("answer ", i)), "and?")
		wants(t, fmt.Sprint("after message ", i), next, "continued", v.Conversation)
	}
}

func namedLate(t *testing.T, a, b *chats.Registry) {
	id, conversation := newID(), uuid.New()
	var answer chats.Text
	answer.Add("the answer")
	a.Remember(id.Token, id.Model, conversation, nil, "one", &answer)
	other := newID()
	other.Token = "u"
	wants(t, "another token", planned(t, b, other, said("one", "the answer"), "two"), "quoted", "")
	wants(t, "another answer", planned(t, b, newID(), said("one", "something else"), "three"), "quoted", "")
	wants(t, "its next message", say(t, b, id, said("one", "the answer"), "two", "2"), "continued", conversation)
	wants(t, "and the one after it", planned(t, a, id, said("one", "the answer", "two", "2"), "three"), "continued", conversation)
	wants(t, "another chat with the same words", planned(t, a, newID(), said("one", "the answer"), "two"), "quoted", "")
}

// answers lets both note what they have shown at the same time.
func answers(t *testing.T, a, b *chats.Registry) {
	id := newID()
	const n = 8
	visits, history := make([]*chats.Visit, n), []openai.Turn(nil)
	for i := range visits {
		visits[i] = enter(t, []*chats.Registry{a, b}[i%2], chats.Request{ID: id, History: history, Text: fmt.Sprint("message ", i)}, true)
		begin(visits[i])
		visits[i].Show(fmt.Sprint("answer ", i))
		history = append(history, said(fmt.Sprint("message ", i), fmt.Sprint("answer ", i))...)
	}
	var wg sync.WaitGroup
	for _, v := range visits {
		wg.Go(func() {
			v.End(true, false)
			v.Shown(v.Conversation)
			v.Close()
		})
	}
	wg.Wait()
	next := enter(t, a, chats.Request{ID: id, History: history, Text: "last"}, true)
	wants(t, "the last", next, "continued", visits[0].Conversation)
	if text, _, _ := next.Compose(agentapi.Info{}, false); text != "" {
		t.Errorf("the conversation is told what it has said: %q", text)
	}
	next.End(false, false)
	next.Close()
}

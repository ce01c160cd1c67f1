package completions

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

const conversation = "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c11"

func TestACallRunsWhereItsClientSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call      Call
		workspace string
		want      run.Place
	}{
		"nowhere":             {want: run.Place{}},
		"a response":          {call: Call{Origin: Origin{Keep: true}}, want: run.Place{Keep: true}},
		"a named one":         {call: Call{Options: gate.Options{Conversation: conversation}}, want: run.Place{ConversationID: conversation}},
		"a named one is kept": {call: Call{Origin: Origin{Named: conversation, Keep: true}}, want: run.Place{ConversationID: conversation}},
		"a later response": {
			call: Call{Origin: Origin{Named: conversation, Existing: true, Once: true}},
			want: run.Place{ConversationID: conversation, Existing: true, Once: true},
		},
		"a copy": {call: Call{Origin: Origin{Copied: conversation, Last: "e"}}, want: run.Place{Origin: conversation, From: "e"}},
		"a directory": {
			call: Call{Options: gate.Options{ReadOnly: true}}, workspace: "/w",
			want: run.Place{Workspace: "/w", Named: true, ReadOnly: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := (&API{}).place(t.Context(), asked{call: &tt.call, workspace: tt.workspace}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, at.Place); diff != "" {
				t.Errorf("the place (-want +got):\n%s", diff)
			}
		})
	}
}

// TestACopyThatStaysHasAName, because its client is to learn what has no effect in it.
func TestACopyThatStaysHasAName(t *testing.T) {
	t.Parallel()
	call := &Call{Origin: Origin{Copied: conversation, Last: "e", Keep: true}}
	at, err := (&API{}).place(t.Context(), asked{call: call}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := uuid.Parse(at.ConversationID); err != nil || id == conversation || !at.Keep || at.Origin != conversation {
		t.Errorf("the place is %+v: %v", at.Place, err)
	}
}

func TestACallRunsInTheConversationOfItsChat(t *testing.T) {
	t.Parallel()
	registry := chats.Open(chats.Config{Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(registry.Close)
	api := &API{core: &gate.Core{}, chats: registry}
	call := &Call{Chat: &chats.Request{ID: chats.ID{Token: "t", Model: "m", Source: "s", Value: "v"}, Text: "hello"}}
	var first string
	for range 2 {
		visit, err := api.enter(call)
		if err != nil {
			t.Fatal(err)
		}
		at, err := api.place(t.Context(), asked{call: call, model: model{profile: agentapi.Profile{Name: "p"}}}, visit)
		if err != nil {
			t.Fatal(err)
		}
		if at.ConversationID != visit.Conversation || at.profile.Name != "p" || at.visit != visit {
			t.Errorf("the place is %+v, not that of the visit: %s", at, visit.Conversation)
		}
		if first != "" && at.ConversationID != first {
			t.Errorf("the second message runs in %s, want %s", at.ConversationID, first)
		}
		first = at.ConversationID
		visit.Settle(true)
		visit.Close()
	}
}

// TestAnAnswerThatGoesOnChangesACopy of the call: housekeeping sees what the client sent.
func TestAnAnswerThatGoesOnChangesACopy(t *testing.T) {
	t.Parallel()
	call := &Call{ChatRequest: &openai.ChatRequest{
		Text: "count", Images: []string{"i"}, Begun: []openai.Turn{{Role: "assistant", Text: "one"}},
	}}
	in := (&API{}).inChat(gate.Client{ID: "t"}, call, http.Header{"X-Openwebui-Chat-Id": {"c"}})
	if in.Text != goOnText || in.Chat == nil || in.Chat.Text != "count" || in.Chat.Begun != "one" || len(in.History) != 2 {
		t.Errorf("the call in its chat is %+v", in)
	}
	if call.Text != "count" || len(call.Images) != 1 || len(call.History) != 0 || call.Chat != nil {
		t.Errorf("the call is %+v, not as it was read", call)
	}
}

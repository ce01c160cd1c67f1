package completions_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/apitest"
)

// goesOn asks a question that goes on in a conversation, which the first one began.
type goesOn struct {
	first, next func(g *apitest.Gateway, model, text string) apitest.Response
}

// waysOn are the ways to name a conversation.
func waysOn() map[string]goesOn {
	chat := func(header ...string) func(*apitest.Gateway, string, string) apitest.Response {
		return func(g *apitest.Gateway, model, text string) apitest.Response {
			return g.Chat(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text), header...)
		}
	}
	previous := ""
	respond := func(more func() string) func(*apitest.Gateway, string, string) apitest.Response {
		return func(g *apitest.Gateway, model, text string) apitest.Response {
			return g.Respond(fmt.Sprintf(`{"model":%q,"input":%q%s}`, model, text, more()))
		}
	}
	named := respond(func() string { return `,"conversation":"home"` })
	byHeader := chat("X-OpenHands-ServerConversation-ID", apitest.Conversation)
	return map[string]goesOn{
		"a header":       {byHeader, byHeader},
		"a conversation": {named, named},
		"a previous response": {
			func(g *apitest.Gateway, model, text string) apitest.Response {
				res := respond(func() string { return "" })(g, model, text)
				previous = apitest.Responded(g.T, res).ID
				return res
			},
			respond(func() string { return `,"previous_response_id":"` + previous + `"` }),
		},
	}
}

// A model that a conversation cannot change to is refused in the same way, whatever
// names the conversation.
func TestAnotherModelIsRefusedHoweverTheConversationIsNamed(t *testing.T) {
	t.Parallel()
	for name := range waysOn() {
		for _, next := range []string{"openhands_agent_sql", "openhands_cheap"} {
			t.Run(name+" "+next, func(t *testing.T) {
				t.Parallel()
				way := waysOn()[name]
				b := fourAgents()
				b.NoSwitch = true
				g := apitest.Serve(t, b)
				if res := way.first(g, "openhands_agent_cook", "one"); res.Status != http.StatusOK {
					t.Fatalf("status = %d, want 200, body = %s", res.Status, res.Body)
				}
				apitest.Envelope(t, way.next(g, next, "two"), http.StatusConflict, "model_mismatch", "model")
			})
		}
	}
}

// The agent of a conversation answers in it also when it is not in the list any more,
// and nowhere else.
func TestAnAgentThatWasRemovedGoesOnInItsConversations(t *testing.T) {
	t.Parallel()
	for name, way := range waysOn() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fourAgents()
			b.NoSwitch = true
			g := apitest.Serve(t, b)
			if res := way.first(g, "openhands_agent_cook", "one"); res.Status != http.StatusOK {
				t.Fatalf("status = %d, want 200, body = %s", res.Status, res.Body)
			}
			b.SetProfiles(agentapi.Profile{Name: "cheap", Model: "p/cheap", Active: true})
			// Who asks for a model that is not known has the list renewed.
			apitest.Envelope(t, g.Chat(`{"model":"openhands_agent_none","messages":[{"role":"user","content":"hi"}]}`), http.StatusNotFound, "model_not_found", "model")
			if res := way.next(g, "openhands_agent_cook", "two"); res.Status != http.StatusOK || !strings.Contains(res.Body, "openhands_agent_cook") {
				t.Errorf("its conversation: %d %s", res.Status, res.Body)
			}
			for _, body := range []string{
				`{"model":"openhands_agent_cook","messages":[{"role":"user","content":"hi"}]}`,
				`{"model":"openhands_agent_none","messages":[{"role":"user","content":"hi"}]}`,
			} {
				apitest.Envelope(t, g.Chat(body), http.StatusNotFound, "model_not_found", "model")
			}
			apitest.Envelope(t, way.next(g, "openhands_agent_sql", "three"), http.StatusNotFound, "model_not_found", "model")
		})
	}
}

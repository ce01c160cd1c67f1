package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
)

// goesOn asks a question that goes on in a conversation, which the first one began.
type goesOn struct {
	first, next func(g *gateway, model, text string) response
}

// waysOn are the ways to name a conversation.
func waysOn() map[string]goesOn {
	chat := func(header ...string) func(*gateway, string, string) response {
		return func(g *gateway, model, text string) response {
			return g.chat(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text), header...)
		}
	}
	previous := ""
	respond := func(more func() string) func(*gateway, string, string) response {
		return func(g *gateway, model, text string) response {
			return g.respond(fmt.Sprintf(`{"model":%q,"input":%q%s}`, model, text, more()))
		}
	}
	named := respond(func() string { return `,"conversation":"home"` })
	byHeader := chat("X-OpenHands-ServerConversation-ID", conversation)
	return map[string]goesOn{
		"a header":       {byHeader, byHeader},
		"a conversation": {named, named},
		"a previous response": {
			func(g *gateway, model, text string) response {
				res := respond(func() string { return "" })(g, model, text)
				previous = responded(g.t, res).ID
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
				g := serve(t, b)
				if res := way.first(g, "openhands_agent_cook", "one"); res.status != http.StatusOK {
					t.Fatalf("%d %s", res.status, res.body)
				}
				envelope(t, way.next(g, next, "two"), http.StatusConflict, "model_mismatch", "model")
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
			g := serve(t, b)
			if res := way.first(g, "openhands_agent_cook", "one"); res.status != http.StatusOK {
				t.Fatalf("%d %s", res.status, res.body)
			}
			b.SetProfiles(agentapi.Profile{Name: "cheap", Model: "p/cheap", Active: true})
			// Who asks for a model that is not known has the list renewed.
			envelope(t, g.chat(`{"model":"openhands_agent_none","messages":[{"role":"user","content":"hi"}]}`), http.StatusNotFound, "model_not_found", "model")
			if res := way.next(g, "openhands_agent_cook", "two"); res.status != http.StatusOK || !strings.Contains(res.body, "openhands_agent_cook") {
				t.Errorf("its conversation: %d %s", res.status, res.body)
			}
			for _, body := range []string{
				`{"model":"openhands_agent_cook","messages":[{"role":"user","content":"hi"}]}`,
				`{"model":"openhands_agent_none","messages":[{"role":"user","content":"hi"}]}`,
			} {
				envelope(t, g.chat(body), http.StatusNotFound, "model_not_found", "model")
			}
			envelope(t, way.next(g, "openhands_agent_sql", "three"), http.StatusNotFound, "model_not_found", "model")
		})
	}
}

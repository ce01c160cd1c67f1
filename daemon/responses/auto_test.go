package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const cook = "openhands_agent_cook"

// routed serves a backend with two agents, of which the model auto chooses the one that
// the returned value has.
func routed(t testing.TB, change ...func(*daemon.Config)) (*apitest.Gateway, *atomic.Value) {
	t.Helper()
	b := daemontest.New()
	b.SetProfiles(
		agentapi.Profile{Name: "agent_cook", Model: "p/m", Agent: "Cook"}, agentapi.Profile{Name: "agent_writer", Model: "p/m", Agent: "Writer"},
	)
	choice := new(atomic.Value)
	choice.Store("Cook")
	return apitest.Serve(t, b, append(change, func(c *daemon.Config) {
		c.Complete = func(context.Context, completions.Prompt) (completions.Completion, error) {
			return completions.Completion{Text: choice.Load().(string)}, nil
		}
	})...), choice
}

// modelOf reads the model of a response.
func modelOf(t testing.TB, data []byte) string {
	t.Helper()
	var m struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m.Model
}

// TestAResponseOfAutoNamesTheModelThatWasChosen has it whole, streamed, stored, and after
// a restart.
func TestAResponseOfAutoNamesTheModelThatWasChosen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, choice := routed(t, apitest.StateIn(dir))
	whole := g.Respond(`{"model":"auto","input":"hello"}`)
	made := apitest.Responded(t, whole)
	apitest.Equal(t, "the model", modelOf(t, []byte(whole.Body)), cook)
	events := apitest.EventsOf(t, g.Respond(`{"model":"auto","input":"hello, streamed","stream":true}`).Body)
	for _, e := range events {
		if len(e.Response) > 0 {
			apitest.Equal(t, "the model of "+e.Type, modelOf(t, e.Response), cook)
		}
	}
	stored := func(g *apitest.Gateway) string {
		return modelOf(t, []byte(g.Do(http.MethodGet, "/v1/responses/"+made.ID, "").Body))
	}
	apitest.Equal(t, "the stored model", stored(g), cook)
	choice.Store("Writer")
	next := g.Respond(`{"model":"auto","input":"more","previous_response_id":"` + made.ID + `"}`)
	apitest.Equal(t, "the model of the next", modelOf(t, []byte(next.Body)), cook)
	apitest.Equal(t, "the conversation", apitest.Responded(t, next).Conversation.ID, made.Conversation.ID)
	apitest.Equal(t, "the stored model after a restart", stored(g.Again(dir)), cook)
}

// TestAResponseOfAutoIsFoundByBothModels has clients that send the whole chat: one keeps
// the model that it asked for, and the other takes that of the answer.
func TestAResponseOfAutoIsFoundByBothModels(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"auto", cook} {
		g, choice := routed(t)
		first := apitest.Responded(t, g.Respond(`{"model":"auto","input":"hello"}`))
		choice.Store("Writer")
		next := apitest.Responded(t, g.Respond(fmt.Sprintf(
			`{"model":%q,"input":[{"role":"user","content":"hello"},{"role":"assistant","content":%q},{"role":"user","content":"go on"}]}`, model, first.Text(),
		)))
		apitest.Equal(t, "the conversation with "+model, next.Conversation.ID, first.Conversation.ID)
	}
}

package cloud_test

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestASwitchAfterATurnThatEndedBeforeItsCall: the answer of the agent-server to the
// first message comes after the end of the turn, on a busy machine.
func TestASwitchAfterATurnThatEndedBeforeItsCall(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]string{{"fast", "other"}, {"other", "fast"}} { // one of them is the account's
		t.Run("from "+order[0], func(t *testing.T) {
			t.Parallel()
			llm := llmtest.New(t)
			server := newCloud(t, fakecloud.Options{Key: "sk-cloud"}, llm.URL)
			b := newBackendWith(t, server.URL, "sk-cloud", func(address string, key transport.Secret) (cloud.Agent, error) {
				a, err := connect(address, key)
				return slowAgent{a}, err
			})
			p := &place{b, server, llm}
			llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
			c, err := p.open(t, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: order[0]})
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := say(t, c, "first"); err != nil || answer != "one" {
				t.Fatalf("the first turn: %q, %v", answer, err)
			}
			if err := c.Switch(t.Context(), order[1]); err != nil {
				t.Fatal(err)
			}
			again, err := p.open(t, agentapi.OpenRequest{ID: c.Info().ID})
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := say(t, again, "next"); err != nil || answer != "two" {
				t.Fatalf("the next turn: %q, %v", answer, err)
			}
			if was, is := llm.Await(t, 1).Model, llm.Await(t, 2).Model; was == is {
				t.Errorf("after the switch from %s to %s the model is still %s", order[0], order[1], is)
			}
		})
	}
}

// slowAgent is an agent-server whose answers to messages come too late for their turns.
type slowAgent struct{ cloud.Agent }

func (a slowAgent) SendFirst(ctx context.Context, id string, m agentapi.Message, set func(context.Context) error) error {
	if err := a.Agent.SendFirst(ctx, id, m, set); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (a slowAgent) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	c, err := a.Agent.Open(ctx, req)
	return slowConversation{c}, err
}

type slowConversation struct{ agentapi.Conversation }

func (c slowConversation) Send(ctx context.Context, m agentapi.Message) error {
	if err := c.Conversation.Send(ctx, m); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

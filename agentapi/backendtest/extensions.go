package backendtest

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func extensions() []behaviour {
	return []behaviour{
		{name: "ExtensionsOfAnUnknownConversation", check: func(t *testing.T, s *Setup) {
			_, err := s.Backend.Extensions(within(t, patience), uuid.New())
			wantKind(t, err, agentapi.ErrConversationNotFound)
		}},
		{name: "ExtensionsAreListedBeforeAndAfterAMessage", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.open(t)
			s.wantExtensions(t, c.Info().ID)
			say(t, c, "first")
			s.wantExtensions(t, c.Info().ID)
		}},
	}
}

// wantExtensions lists what a conversation has, and checks its states.
func (s *Setup) wantExtensions(t *testing.T, id string) {
	t.Helper()
	found, err := s.Backend.Extensions(within(t, patience), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range found.Servers {
		switch x.State {
		case agentapi.ServerConnected, agentapi.ServerNotStarted, agentapi.ServerFailed, agentapi.ServerDisabled:
		default:
			t.Errorf("server %+v", x)
		}
	}
	for _, x := range found.Skills {
		switch x.State {
		case agentapi.SkillAlways, agentapi.SkillListed, agentapi.SkillTriggered, agentapi.SkillSkipped:
		default:
			t.Errorf("skill %+v", x)
		}
	}
}

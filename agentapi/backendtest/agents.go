package backendtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func hasAgents(f Features) bool { return f.Agents }

// agents returns the behaviours of agents that are models.
func agents() []behaviour {
	return []behaviour{
		{name: "AgentIsListedWithTheModelOfItsProfile", has: hasAgents, check: func(t *testing.T, s *Setup) {
			list, err := s.Backend.Profiles(within(t, patience))
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(s.Agent, agentapi.AgentPrefix)
			i := slices.IndexFunc(list, func(p agentapi.Profile) bool { return p.Name == s.Agent })
			if i < 0 || list[i].Agent != name || !strings.HasSuffix(list[i].Model, "test") || list[i].Active || list[i].Revision == "" {
				t.Errorf("no agent %q in %+v", s.Agent, list)
			}
		}},
		{name: "AgentAnswersWithItsInstructions", has: hasAgents, check: checkAgent},
		{name: "AgentOfAConversationStays", has: hasAgents, check: func(t *testing.T, s *Setup) {
			c := s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: s.Agent})
			wantKind(t, c.Switch(within(t, patience), s.Other), agentapi.ErrUnsupported)
			plain := s.open(t)
			wantKind(t, plain.Switch(within(t, patience), s.Agent), agentapi.ErrUnsupported)
		}},
		{name: "UnknownAgentIsNamed", check: func(t *testing.T, s *Setup) {
			_, err := s.Backend.Open(within(t, patience), agentapi.OpenRequest{
				ID: uuid.New(), New: true, Profile: agentapi.AgentPrefix + "absent", Workspace: s.Workspace,
			})
			wantKind(t, err, agentapi.ErrProfileNotFound)
		}},
	}
}

func checkAgent(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
	id := uuid.New()
	c := s.openAs(t, agentapi.OpenRequest{ID: id, New: true, Profile: s.Agent, System: "Be brief."})
	if p := say(t, c, "first"); p.Answer != "one" || p.Outcome != turn.Finished {
		t.Errorf("result of the first turn: %+v", p.Result)
	}
	asked := string(s.LLM.Requests()[0].Body)
	for _, want := range []string{"You are the agent of the contract.", "Be brief."} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	again := s.openAs(t, agentapi.OpenRequest{ID: id, Profile: s.Agent})
	if info := again.Info(); info.Created || info.Profile != s.Agent {
		t.Errorf("Info() = %+v", info)
	}
	if p := say(t, again, "second"); p.Answer != "two" {
		t.Errorf("result of the second turn: %+v", p.Result)
	}
}

package completions_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// teams is a backend with an agent and a team.
func teams() *daemontest.Backend {
	b := echo()
	b.SetProfiles(
		agentapi.Profile{Name: "agent_cook", Model: "p/m", Agent: "Cook"}, agentapi.Profile{Name: "agent_sql", Model: "p/m", Agent: "SQL"},
		agentapi.Profile{Name: "team_crew", Model: "p/m", Agent: "Crew"}, agentapi.Profile{Name: "cheap", Model: "p/cheap", Active: true},
	)
	return b
}

func TestATeamHasTwoIDs(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, teams())
	for _, id := range []string{"openhands_team_crew", "team/crew"} {
		if res := g.Chat(`{"model":"` + id + `","messages":[{"role":"user","content":"hello"}]}`); res.Status != http.StatusOK || !strings.Contains(res.Body, `"model":"`+id+`"`) {
			t.Errorf("%s: status = %d, body = %s", id, res.Status, res.Body)
		}
		if res := g.Do(http.MethodGet, "/v1/models/"+id, ""); res.Status != http.StatusOK || !strings.Contains(res.Body, `"id":"openhands_team_crew"`) {
			t.Errorf("%s: status = %d, body = %s", id, res.Status, res.Body)
		}
	}
	if list := g.Do(http.MethodGet, "/v1/models", "").Body; !strings.Contains(list, `"openhands_team_crew"`) || strings.Contains(list, `"team/crew"`) || !strings.Contains(list, "Cook, SQL.") {
		t.Errorf("models = %s, want the team once, and not among those that auto chooses", list)
	}
	for _, id := range []string{"team/../x", "team/", "team/cook", "openhands_team_gone", "team/crew/x"} {
		apitest.Envelope(t, g.Chat(`{"model":"`+id+`","messages":[{"role":"user","content":"hello"}]}`), http.StatusNotFound, "model_not_found", "model")
	}
}

func TestATeamInFrontOfAnotherBackendIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"agent-server", "cloud"} {
		b := echo()
		b.Named = name
		g := apitest.Serve(t, b)
		for _, id := range []string{"openhands_team_crew", "team/crew"} {
			res := g.Chat(`{"model":"` + id + `","messages":[{"role":"user","content":"hello"}]}`)
			apitest.Envelope(t, res, http.StatusNotFound, "model_not_found", "model")
			if !strings.Contains(res.Body, "a team needs the embedded agent") {
				t.Errorf("body = %s, want the reason", res.Body)
			}
		}
	}
}

//go:build e2e

package pool_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestContractOverTwoRealServers(t *testing.T) {
	t.Parallel()
	plain, confirming := startPair(t), startPair(t)
	for _, s := range confirming.servers {
		s.Call(t, http.MethodPatch, "/api/settings",
			map[string]any{"conversation_settings_diff": map[string]any{"confirmation_mode": true, "security_analyzer": nil}}, nil)
	}
	has := everything()
	has.Kill = false // two servers for each of those take minutes; the test below kills one
	has.Room = 0     // as many for this
	t.Run("contract", func(t *testing.T) {
		backendtest.Run(t, backendtest.Factory{Has: has, New: func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
			t.Helper()
			if needs.Confirm {
				return confirming.setup(t)
			}
			return plain.setup(t)
		}})
	})
}

// pair is two agent-servers, for several tests at once.
type pair struct {
	mu      sync.Mutex
	servers []*agentservertest.Server
	made    int
	free    []int // numbers of profiles that no test uses now: a server has room for 50
}

func startPair(t *testing.T) *pair {
	t.Helper()
	return &pair{servers: []*agentservertest.Server{agentservertest.Start(t), agentservertest.Start(t)}}
}

// both makes a request of both servers.
func (p *pair) both(t *testing.T, method, path string, in any) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		s.Call(t, method, path, in, nil)
	}
}

// number is one for the profiles of a test.
func (p *pair) number(t *testing.T) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var n int
	if last := len(p.free) - 1; last >= 0 {
		n, p.free = p.free[last], p.free[:last]
	} else {
		p.made++
		n = p.made
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, n)
	})
	return strconv.Itoa(n)
}

func (p *pair) setup(t *testing.T) *backendtest.Setup {
	t.Helper()
	llm := llmtest.New(t)
	n := p.number(t)
	profile, other, agent := "profile-"+n, "other-"+n, "agent-"+n
	for name, model := range map[string]string{profile: "openai/test", other: "openai/other"} {
		config := agentservertest.LLM(llm.URL)
		config["model"] = model
		config["capability_overrides"] = map[string]any{"supports_vision": true} // else the agent itself declines images
		p.both(t, http.MethodPost, "/api/profiles/"+name, map[string]any{"llm": config, "include_secrets": true})
	}
	p.both(t, http.MethodPost, "/api/agent-profiles/"+agent, map[string]any{
		"agent_kind": "openhands", "llm_profile_ref": profile, "system_message_suffix": "You are the agent of the contract.",
		"tools": []map[string]any{{"name": "terminal"}},
	})
	p.activate(t, agent)
	key := p.servers[0].Key
	b := newPool(t, pool.Config{
		Servers: []string{p.servers[0].URL, p.servers[1].URL},
		Open: func(address string) (agentapi.Backend, error) {
			return agentserver.New(agentserver.Config{URL: address, Key: func() string { return key }})
		},
	})
	return &backendtest.Setup{
		Backend: b, LLM: llm, Profile: profile, Other: other, Agent: agentapi.AgentProfile(agent), Workspace: t.TempDir(),
		Pause: func(t *testing.T, id string) {
			t.Helper()
			p.mu.Lock()
			defer p.mu.Unlock()
			if s := p.with(t, id); s != nil {
				s.Call(t, http.MethodPost, "/api/conversations/"+id+"/pause", nil, nil)
			}
		},
	}
}

// activate makes an agent profile the active one of both.
func (p *pair) activate(t *testing.T, agent string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		var stored struct {
			Profile struct {
				ID string `json:"id"`
			} `json:"profile"`
		}
		s.Call(t, http.MethodGet, "/api/agent-profiles/"+agent, nil, &stored)
		s.Call(t, http.MethodPost, "/api/agent-profiles/"+stored.Profile.ID+"/activate", nil, nil)
	}
}

// with is the server that has a conversation. The caller holds p.mu.
func (p *pair) with(t *testing.T, id string) *agentservertest.Server {
	t.Helper()
	for _, s := range p.servers {
		var found []*struct {
			ID string `json:"id"`
		}
		s.Call(t, http.MethodGet, "/api/conversations?ids="+id, nil, &found)
		if slices.ContainsFunc(found, func(c *struct {
			ID string `json:"id"`
		},
		) bool {
			return c != nil && c.ID == id
		}) {
			return s
		}
	}
	t.Errorf("no server has the conversation %s", id)
	return nil
}

// One of two servers is killed in the middle of runs on both: those of the other end,
// new ones go there, and those of the dead one continue when it is back.
func TestARealServerIsKilledBesideAnother(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	s := p.setup(t)
	type run struct {
		c    agentapi.Conversation
		at   *agentservertest.Server
		over chan error
	}
	dies, lives := make(chan string), make(chan string)
	defer close(dies)
	s.LLM.Reply(llmtest.Reply{Feed: dies}, llmtest.Reply{Feed: lives})
	var runs []*run
	for i := range 2 { // the second goes where there is more room
		r := &run{over: make(chan error, 1)}
		var err error
		if r.c, err = s.Backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: s.Profile, Workspace: s.Workspace}); err != nil {
			t.Fatal(err)
		}
		r.at = p.with(t, r.c.Info().ID)
		runs = append(runs, r)
		go func() {
			_, err := turn.Run(t.Context(), r.c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
			r.over <- err
		}()
		s.LLM.Await(t, i+1)
	}
	if runs[0].at == runs[1].at {
		t.Fatal("both conversations are on one server")
	}
	runs[0].at.Kill(t)
	if err := <-runs[0].over; err == nil {
		t.Error("the run of the dead server has an answer")
	}
	if _, err := s.Backend.Open(t.Context(), agentapi.OpenRequest{ID: runs[0].c.Info().ID}); !errors.Is(err, agentapi.ErrUnavailable) {
		t.Errorf("the conversation of the dead server: %v", err)
	}
	c, err := s.Backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: s.Profile, Workspace: s.Workspace})
	if err != nil {
		t.Fatalf("a new conversation: %v", err)
	}
	lives <- "done"
	close(lives)
	if err := <-runs[1].over; err != nil {
		t.Errorf("the run of the other: %v", err)
	}
	s.LLM.Reply(llmtest.Text("fine"), llmtest.Text("back"))
	if r, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}); err != nil || r.Answer != "fine" {
		t.Errorf("its turn: %+v, %v", r, err)
	}
	runs[0].at.Restart(t)
	again, err := s.Backend.Open(t.Context(), agentapi.OpenRequest{ID: runs[0].c.Info().ID})
	if err != nil || again.Info().Created {
		t.Fatalf("the conversation of the server that is back: %v", err)
	}
	if r, err := turn.Run(t.Context(), again, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}); err != nil || r.Answer != "back" {
		t.Errorf("its turn: %+v, %v", r, err)
	}
}

package pool_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything is what an agent-server of today can do, and so its pool.
func everything() backendtest.Features {
	return backendtest.Features{Deltas: true, Stop: true, Switch: true, Fork: true, Confirm: true, Pause: true, Kill: true, Agents: true, Goals: true, KeyWords: true, Fenced: true, Room: 20}
}

func TestContractOverTwoServers(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, backendtest.Factory{Has: everything(), New: func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
		t.Helper()
		llm := llmtest.New(t)
		servers := []*fakeserver.Server{newServer(t, llm.URL), newServer(t, llm.URL)}
		for _, s := range servers {
			s.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = needs.Confirm })
			s.SaveAgent("contract", map[string]any{
				"agent_kind": "openhands", "llm_profile_ref": "fast", "system_message_suffix": "You are the agent of the contract.",
			})
		}
		b := newPool(t, pool.Config{Servers: []string{servers[0].URL, servers[1].URL}})
		for slices.ContainsFunc(b.Members(), func(s agentapi.Member) bool { return s.Asked.IsZero() }) {
			if _, err := b.Profiles(t.Context()); err != nil { // on a busy machine, it does not wait for all
				t.Fatal(err)
			}
		}
		return &backendtest.Setup{
			Backend: b, LLM: llm,
			Profile: "fast", Other: "other", Agent: "agent_contract", Workspace: t.TempDir(),
			Pause: func(t *testing.T, id string) {
				t.Helper()
				for _, s := range servers {
					if slices.Contains(s.Conversations(), id) {
						request(t, s, "POST", "/api/conversations/"+id+"/pause")
					}
				}
			},
			Kill: func(*testing.T) {
				for _, s := range servers {
					s.Kill()
				}
			},
			Restart: func(t *testing.T) {
				t.Helper()
				for _, s := range servers {
					s.Restart(t)
				}
			},
		}
	}})
}

// newServer is a fake agent-server with two profiles.
func newServer(t *testing.T, llm string) *fakeserver.Server {
	t.Helper()
	s := fakeserver.New(t, fakeserver.Options{})
	s.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: llm, Key: "sk-llm"})
	s.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: llm, Key: "sk-llm"})
	return s
}

// newPool is a pool with what a test leaves out. It waits longer than a user would, for
// machines that are busy.
func newPool(t *testing.T, c pool.Config) *pool.Backend {
	t.Helper()
	if c.Placer == nil {
		c.Placer = placement.NewLocal(filepath.Join(t.TempDir(), "pool"), time.Now)
	}
	if c.Open == nil {
		c.Open = open
	}
	if c.Wait == 0 {
		c.Wait = 30 * time.Second
	}
	b, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func open(address string) (agentapi.Backend, error) {
	return agentserver.New(agentserver.Config{URL: address})
}

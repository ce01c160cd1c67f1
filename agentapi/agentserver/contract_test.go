package agentserver_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) { waittest.Main(m) }

// everything is what an agent-server of today can do.
func everything() backendtest.Features {
	return backendtest.Features{Deltas: true, Stop: true, Switch: true, Fork: true, Confirm: true, Pause: true, Kill: true, KeyWords: true, Agents: true, Goals: true, Fenced: true, Room: 10}
}

func TestContractWithTheFakeServer(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, backendtest.Factory{Has: everything(), New: newSetup(fakeserver.Options{Key: "sk-session"})})
}

func TestContractWithOldServers(t *testing.T) {
	t.Parallel()
	old := everything()
	old.Kill = false // says nothing new, and takes seconds
	old.KeyWords, old.Room = false, 0
	for _, tt := range []struct {
		version string
		has     func(*backendtest.Features)
	}{
		{"1.55.0", func(f *backendtest.Features) { f.Room = 10 }},
		{"1.43.1", func(*backendtest.Features) {}},
		{"1.37.0", func(f *backendtest.Features) { f.Goals = false }},
		{"1.36.0", func(f *backendtest.Features) { f.Agents, f.Goals = false, false }},
		{"1.32.0", func(f *backendtest.Features) { f.Agents, f.Pause, f.Goals = false, false, false }},
		{"1.30.0", func(f *backendtest.Features) { f.Agents, f.Pause, f.Fork, f.Goals = false, false, false, false }},
		{"1.22.0", func(f *backendtest.Features) {
			f.Agents, f.Stop, f.Pause, f.Fork, f.Goals = false, false, false, false, false
		}},
	} {
		t.Run(tt.version, func(t *testing.T) {
			t.Parallel()
			has := old
			tt.has(&has)
			backendtest.Run(t, backendtest.Factory{Has: has, New: newSetup(fakeserver.Options{Key: "sk-session", Version: tt.version})})
		})
	}
}

func TestContractWithoutASecretKey(t *testing.T) {
	t.Parallel()
	has := everything()
	has.Kill = false
	backendtest.Run(t, backendtest.Factory{Has: has, New: newSetup(fakeserver.Options{NoSecretKey: true})})
}

// newSetup makes a fake server for each behaviour.
func newSetup(opts fakeserver.Options) func(*testing.T, backendtest.Needs) *backendtest.Setup {
	return func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
		t.Helper()
		llm := llmtest.New(t)
		server := fakeserver.New(t, opts)
		server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: "sk-llm"})
		server.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: llm.URL, Key: "sk-llm"})
		server.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = needs.Confirm })
		server.SaveAgent("contract", map[string]any{
			"agent_kind": "openhands", "llm_profile_ref": "fast", "system_message_suffix": "You are the agent of the contract.",
		})
		return &backendtest.Setup{
			Backend: newBackend(t, server, opts.Key), LLM: llm, Profile: "fast", Other: "other", Agent: "agent_contract", Workspace: t.TempDir(),
			Pause:   func(t *testing.T, id string) { t.Helper(); pause(t, server, opts.Key, id) },
			Kill:    func(*testing.T) { server.Kill() },
			Restart: func(t *testing.T) { t.Helper(); server.Restart(t) },
		}
	}
}

func newBackend(t *testing.T, server *fakeserver.Server, key string) *agentserver.Backend {
	t.Helper()
	b, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return key }})
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

// pause does what a person in front of another client would.
func pause(t *testing.T, server *fakeserver.Server, key, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/conversations/"+id+"/pause", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", key)
	client := server.Client()
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("pause: %s, %v", res.Status, err)
	}
}

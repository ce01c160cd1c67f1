//go:build e2e

package agentserver_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestContractWithTheRealServer(t *testing.T) {
	t.Parallel()
	f := realServers{plain: &shared{server: agentservertest.Start(t)}, confirming: &shared{server: agentservertest.Start(t)}}
	f.confirming.server.Call(t, http.MethodPatch, "/api/settings",
		map[string]any{"conversation_settings_diff": map[string]any{"confirmation_mode": true, "security_analyzer": nil}}, nil)
	t.Run("contract", func(t *testing.T) {
		backendtest.Run(t, backendtest.Factory{Has: everything(), New: f.setup})
	})
}

// realServers are the servers that behaviours share.
type realServers struct {
	plain, confirming *shared

	mu   sync.Mutex
	made int
	free []string // names of profiles that no test uses now: a server has room for 50
}

// name makes for a test the name of a profile for itself.
func (f *realServers) name(t *testing.T) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var name string
	if n := len(f.free); n > 0 {
		name, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.made++
		name = fmt.Sprintf("profile-%d", f.made)
	}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.free = append(f.free, name)
	})
	return name
}

// shared is a server for several tests at once.
type shared struct {
	mu     sync.Mutex
	server *agentservertest.Server
}

func (s *shared) call(t *testing.T, method, path string, in any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.Call(t, method, path, in, nil)
}

func (f *realServers) setup(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
	t.Helper()
	s := f.plain
	switch {
	case needs.Kill:
		s = &shared{server: agentservertest.Start(t)}
	case needs.Confirm:
		s = f.confirming
	}
	llm := llmtest.New(t)
	names := map[string]string{"openai/test": "", "openai/other": ""}
	for model := range names {
		name := f.name(t)
		names[model] = name
		config := agentservertest.LLM(llm.URL)
		config["model"] = model
		config["capability_overrides"] = map[string]any{"supports_vision": true} // else the agent itself declines images
		s.call(t, http.MethodPost, "/api/profiles/"+name, map[string]any{"llm": config, "include_secrets": true})
	}
	b, err := agentserver.New(agentserver.Config{URL: s.server.URL, Key: func() string { return s.server.Key }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &backendtest.Setup{
		Backend: b, LLM: llm, Profile: names["openai/test"], Other: names["openai/other"], Workspace: t.TempDir(),
		Pause: func(t *testing.T, id string) {
			t.Helper()
			s.call(t, http.MethodPost, "/api/conversations/"+id+"/pause", nil)
		},
		Kill:    func(t *testing.T) { t.Helper(); s.server.Kill(t) },
		Restart: func(t *testing.T) { t.Helper(); s.server.Restart(t) },
	}
}

func TestARealServerOnThisMachineSharesOurFiles(t *testing.T) {
	t.Parallel()
	server := agentservertest.Start(t)
	for dir, want := range map[string]bool{t.TempDir(): true, "": false} {
		b, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return server.Key }, Scratch: dir})
		if err != nil {
			t.Fatal(err)
		}
		if st := b.Status(t.Context()); st.Err != nil || st.SharesFiles != want {
			t.Errorf("with the scratch directory %q: SharesFiles = %t, %v", dir, st.SharesFiles, st.Err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

package setup_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

func TestSoughtPortsAreThoseOfSettingsAndVariablesToo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config    config.Config
		variables map[string]string
		profiles  []string // their base URLs
		want      []uint16
	}{
		"nothing set":             {want: nil},
		"an agent-server":         {config: config.Config{AgentServer: config.AgentServer{URLs: []string{"http://127.0.0.1:8123"}}}, want: []uint16{8123}},
		"an address of IPv6":      {config: config.Config{AgentServer: config.AgentServer{URLs: []string{"http://[::1]:8124"}}}, want: []uint16{8124}},
		"an agent-server's model": {config: config.Config{AgentServer: config.AgentServer{LLM: config.LLM{BaseURL: "http://localhost:8125/v1"}}}, want: []uint16{8125}},
		"a daemon":                {config: config.Config{Client: config.Client{URL: "http://localhost:7001"}}, want: []uint16{7001}},
		"a server elsewhere":      {config: config.Config{AgentServer: config.AgentServer{URLs: []string{"http://192.0.2.1:8123"}}}, want: nil},
		"Ollama without a scheme": {variables: map[string]string{"OLLAMA_HOST": "0.0.0.0:7434"}, want: []uint16{7434}},
		"a provider's variable":   {variables: map[string]string{"OPENAI_BASE_URL": "http://localhost:4000/v1"}, want: []uint16{4000}},
		"profiles":                {profiles: []string{"http://localhost:8126/v1", "https://192.0.2.1:8127", "http://[::1]:8128"}, want: []uint16{8126, 8128}},
		"a proxy":                 {variables: map[string]string{"https_proxy": "http://127.0.0.1:3129"}, want: []uint16{3129}},
	} {
		env := setuptest.New(t, tt.variables)
		env.Usual = nil
		profiles, err := env.ProfileStore(0)
		if err != nil {
			t.Fatal(err)
		}
		for i, base := range tt.profiles {
			draft := profile.NewDraft("openai/m", base)
			if err := profiles.Add(t.Context(), fmt.Sprint("p", i), draft, profile.AddOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		want := append(localport.Sought(), tt.want...)
		slices.Sort(want)
		if diff := cmp.Diff(want, setup.SoughtPorts(t.Context(), env, &config.Settings{Config: tt.config})); diff != "" {
			t.Errorf("%s, -want +got:\n%s", name, diff)
		}
	}
}

func TestReservedPorts(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string][]uint16{
		"127.0.0.1:6449": {6449}, "127.0.0.1:7001": {6449, 7001}, "[::1]:7001": {6449, 7001}, "localhost:0": {6449},
	} {
		s := &config.Settings{Config: config.Config{Addr: addr}}
		if diff := cmp.Diff(want, setup.ReservedPorts(s)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", addr, diff)
		}
	}
}

package several_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/agentapi/several"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The conversations of a further server keep the contract as those of the cloud do.
func TestContractOnAFurtherServer(t *testing.T) {
	t.Parallel()
	has := backendtest.Features{Deltas: true, Stop: true, Switch: true, Confirm: true, Kill: true}
	backendtest.Run(t, backendtest.Factory{Has: has, New: func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
		t.Helper()
		llm := llmtest.New(t)
		server := newCloud(t, fakecloud.Options{Key: cloudKey, Confirm: needs.Confirm}, llm.URL)
		main := fakeserver.New(t, fakeserver.Options{})
		main.SaveProfile("local", fakeserver.Profile{Model: "openai/local", BaseURL: llm.URL})
		b := several.New(several.Config{Main: newServer(t, main), Servers: []several.Server{further("work", server)}, Dir: t.TempDir()})
		closed(t, b)
		return &backendtest.Setup{
			Backend: b, LLM: llm, Profile: "fast@work", Other: "other@work", Workspace: "/workspace/project", Beside: true,
			Kill:    func(*testing.T) { server.Kill() },
			Restart: func(*testing.T) { server.Restart() },
		}
	}})
}

// Those of the main backend do so, too, beside a server that cannot be used.
func TestContractOfTheMainBackend(t *testing.T) {
	t.Parallel()
	has := backendtest.Features{Deltas: true, Stop: true, Switch: true, Fork: true, Confirm: true, Fenced: true}
	backendtest.Run(t, backendtest.Factory{Has: has, New: func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
		t.Helper()
		llm := llmtest.New(t)
		main := fakeserver.New(t, fakeserver.Options{})
		main.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL})
		main.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: llm.URL})
		main.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = needs.Confirm })
		down := several.Server{Name: "down", Address: "http://127.0.0.1:1", Open: func(context.Context) (agentapi.Backend, error) {
			return nil, errors.New("no key")
		}}
		b := several.New(several.Config{Main: newServer(t, main), Servers: []several.Server{down}, Dir: t.TempDir()})
		closed(t, b)
		return &backendtest.Setup{
			Backend: b, LLM: llm, Profile: "fast", Other: "other", Workspace: t.TempDir(),
		}
	}})
}

const cloudKey = "sk-cloud"

// newCloud is a fake cloud with two profiles of a model.
func newCloud(t *testing.T, opts fakecloud.Options, llm string) *fakecloud.Server {
	t.Helper()
	server := fakecloud.New(t, opts)
	server.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: llm, Key: "sk-llm"})
	server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: llm, Key: "sk-llm"})
	return server
}

func closed(t *testing.T, b agentapi.Backend) {
	t.Helper()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

func newServer(t *testing.T, s *fakeserver.Server) agentapi.Backend {
	t.Helper()
	b, err := agentserver.New(agentserver.Config{URL: s.URL, Key: func() string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// further is a fake cloud as a further server. Its account waits a hundredth of what it
// would.
func further(name string, s *fakecloud.Server) several.Server {
	return several.Server{Name: name, Address: s.URL, Open: func(context.Context) (agentapi.Backend, error) {
		client, err := account.New(account.Options{
			URL: s.URL, Key: func(context.Context) (transport.Secret, error) { return cloudKey, nil },
			Sleep: func(ctx context.Context, d time.Duration) error { return transport.Sleep(ctx, d/100) },
		})
		return cloud.New(cloud.Config{Account: client, Connect: connect}), err
	}}
}

func connect(address string, key transport.Secret) (cloud.Agent, error) {
	b, err := agentserver.New(agentserver.Config{URL: address, Key: key.Reveal})
	return agent{b}, err
}

// agent is an agent-server as the cloud wants it.
type agent struct{ *agentserver.Backend }

func (a agent) Mark(ctx context.Context, id, profile string, system *string, title string) error {
	return a.Backend.Mark(ctx, id, agentserver.Mark{Profile: profile, System: system, Title: title})
}

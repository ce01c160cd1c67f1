package cloud_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/pause"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestMain(m *testing.M) { waittest.Main(m) }

// everything is what the cloud can do. A copy up to an event it cannot make. Goals need a newer
// agent-server than the sandboxes have today, which has words of its own for a refused key.
func everything(opts fakecloud.Options) backendtest.Features {
	newer := opts.Sandbox == newerSandbox
	return backendtest.Features{Deltas: true, Stop: true, Switch: true, Confirm: true, Kill: true, Goals: newer, KeyWords: newer}
}

// newerSandbox is the version of an agent-server that pursues goals.
const newerSandbox = "1.58.2"

func TestContractWithTheFakeCloud(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]fakecloud.Options{
		"Self-hosted": {Key: "sk-cloud"},
		"Hosted":      {Key: "sk-cloud", Hosted: true},
		"Grouped":     {Key: "sk-cloud", Grouped: true},
		"Newer":       {Key: "sk-cloud", Sandbox: newerSandbox},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backendtest.Run(t, backendtest.Factory{Has: everything(opts), New: newSetup(opts)})
		})
	}
}

const workspace = "/workspace/project"

func newSetup(opts fakecloud.Options) func(*testing.T, backendtest.Needs) *backendtest.Setup {
	return func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
		t.Helper()
		llm := llmtest.New(t)
		own := opts
		own.Confirm = needs.Confirm
		server := newCloud(t, own, llm.URL)
		if opts.Hosted {
			server.Activate("fast")
		}
		return &backendtest.Setup{
			Backend: newBackend(t, server.URL, opts.Key, false), LLM: llm, Profile: "fast", Other: "other", Workspace: workspace,
			Kill:    func(*testing.T) { server.Kill() },
			Restart: func(*testing.T) { server.Restart() },
		}
	}
}

// newCloud is a fake cloud with two profiles of a model.
func newCloud(t *testing.T, opts fakecloud.Options, llm string) *fakecloud.Server {
	t.Helper()
	server := fakecloud.New(t, opts)
	server.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: llm, Key: "sk-llm"})
	server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: llm, Key: "sk-llm"})
	return server
}

// newBackend is a backend whose account is in a hurry: it waits a hundredth of what
// it would.
func newBackend(t *testing.T, url, key string, titles bool) *cloud.Backend {
	t.Helper()
	client, err := account.New(account.Options{
		URL: url, Key: func(context.Context) (hidden.Text, error) { return hidden.NewText(key), nil },
		Sleep: func(ctx context.Context, d time.Duration) error { return pause.For(ctx, d/100) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := cloud.New(cloud.Config{Account: client, Connect: connect, Titles: titles})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestTheFirstMessageIsTheTitle leaves the title to the agent-server where a model finds it.
func TestTheFirstMessageIsTheTitle(t *testing.T) {
	t.Parallel()
	for titles, want := range map[bool]int{false: 1, true: 0} {
		llm := llmtest.New(t)
		server := newCloud(t, fakecloud.Options{Key: "sk-cloud"}, llm.URL)
		b := newBackend(t, server.URL, "sk-cloud", titles)
		c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		llm.Reply(llmtest.Text("Hello."))
		if _, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "say hello"}, Emit: func(turn.Update) {}}); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, call := range server.Sandbox(c.Info().ID).Calls("PATCH", "/api/conversations/"+c.Info().ID) {
			if strings.Contains(call.Body, `"title":"say hello"`) {
				got++
			}
		}
		if got != want {
			t.Errorf("with titles of the model %v, the title is set %d times, want %d", titles, got, want)
		}
	}
}

func connect(address string, key hidden.Text) (cloud.Agent, error) {
	b, err := agentserver.New(agentserver.Config{URL: address, Key: key.Reveal})
	return agent{b}, err
}

// agent is an agent-server as the cloud wants it.
type agent struct{ *agentserver.Backend }

func (a agent) Mark(ctx context.Context, id, profile string, system *string, title string) error {
	return a.Backend.Mark(ctx, id, agentserver.Mark{Profile: profile, System: system, Title: title})
}

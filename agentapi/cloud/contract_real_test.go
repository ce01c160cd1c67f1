//go:build e2e_cloud

package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/testkit/cloudservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestContractWithTheRealCloud runs the contract with an app-server and its real
// sandbox. The conversations share one: the start of a sandbox takes 15 seconds. A
// server that was killed has lost its sandboxes for good on one machine, so no
// behaviour of such a loss is among them.
func TestContractWithTheRealCloud(t *testing.T) {
	t.Parallel()
	c := &realCloud{Server: cloudservertest.Start(t, cloudservertest.V1)}
	c.Settings(t, map[string]any{"agent_settings_diff": map[string]any{"llm": cloudservertest.LLM("openai/nobody", "http://127.0.0.1:9/v1")}})
	// The account is in a hurry. Its clock has to run as fast as it sleeps: it keeps to
	// a number of requests a minute.
	began := time.Now()
	options := account.Options{
		URL: c.URL, Key: func(context.Context) (transport.Secret, error) { return cloudservertest.Key, nil },
		Now:        func() time.Time { return began.Add(hurry * time.Since(began)) },
		Sleep:      func(ctx context.Context, d time.Duration) error { return transport.Sleep(ctx, d/hurry) },
		StartLimit: hurry * 5 * time.Minute,
	}
	client, err := account.New(options)
	if err != nil {
		t.Fatal(err)
	}
	first, err := client.Start(t.Context(), account.StartRequest{}, nil) // It stays, so that the sandbox does.
	if err != nil {
		t.Fatal(err)
	}
	options.HTTP = into{first.SandboxID, &http.Transport{IdleConnTimeout: time.Second}}
	if c.account, err = account.New(options); err != nil {
		t.Fatal(err)
	}
	c.first = first.ID
	has := everything()
	has.Kill, has.KeepsTwoTurns = false, true // The condenser is that of an agent-server 1.34.
	t.Run("contract", func(t *testing.T) {
		backendtest.Run(t, backendtest.Factory{Has: has, New: c.setup})
	})
}

// hurry is how many times faster the account's clock runs.
const hurry = 3

// into puts all conversations into one sandbox.
type into struct {
	sandbox string

	*http.Transport
}

// RoundTrip adds the sandbox to the request that starts a conversation.
func (i into) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.URL.Path == "/api/v1/app-conversations" {
		var start map[string]any
		if err := json.NewDecoder(r.Body).Decode(&start); err != nil {
			return nil, err
		}
		start["sandbox_id"] = i.sandbox
		body, err := json.Marshal(start)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return i.Transport.RoundTrip(r)
}

// realCloud is a server that the behaviours share.
type realCloud struct {
	*cloudservertest.Server

	account *account.Client
	first   string // the conversation that keeps the sandbox

	mu      sync.Mutex // one start at a time
	made    int
	free    []string // names of profiles that no test uses now: an account has room for some
	confirm bool     // what the settings say
}

// names makes for a test the names of two profiles for itself.
func (c *realCloud) names(t *testing.T) [2]string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		c.made++
		c.free = append(c.free, fmt.Sprint(c.made))
	}
	name := c.free[0]
	c.free = c.free[1:]
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free = append(c.free, name)
	})
	return [2]string{"fast-" + name, "other-" + name}
}

func (c *realCloud) setup(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
	t.Helper()
	llm := llmtest.New(t)
	names := c.names(t)
	for i, model := range []string{"openai/test", "openai/other"} {
		config := cloudservertest.LLM(model, llm.URL)
		config["model_canonical_name"] = "gpt-4o" // else the agent itself declines images
		c.SaveProfile(t, names[i], config)
	}
	b := cloud.New(cloud.Config{Account: c.account, Connect: connect})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &backendtest.Setup{Backend: oneByOne{b, c, t, needs.Confirm}, LLM: llm, Profile: names[0], Other: names[1], Workspace: workspace}
}

// oneByOne starts conversations one after the other, with the settings of its test.
type oneByOne struct {
	*cloud.Backend

	cloud   *realCloud
	t       *testing.T
	confirm bool
}

func (b oneByOne) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	b.cloud.mu.Lock()
	defer b.cloud.mu.Unlock()
	if b.cloud.confirm != b.confirm {
		b.cloud.Settings(b.t, map[string]any{"conversation_settings_diff": map[string]any{"confirmation_mode": b.confirm}})
		b.cloud.confirm = b.confirm
	}
	opened, err := b.Backend.Open(ctx, req)
	for range 3 {
		if !errors.Is(err, account.ErrStart) || !strings.Contains(err.Error(), "error state") {
			break
		}
		// The sandbox of all was too busy to answer, so the server did not begin to start.
		if _, err := b.cloud.account.Wake(ctx, b.cloud.first, nil); err != nil {
			return nil, err
		}
		opened, err = b.Backend.Open(ctx, req)
	}
	return opened, err
}

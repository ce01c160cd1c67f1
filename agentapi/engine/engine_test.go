package engine_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		if err := child(config, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if slices.Contains(os.Args[1:], mcpArgument) {
		if err := mcpServer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	waittest.Main(m,
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
	)
}

func TestEngineKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract(t, func(c *engine.Config, _ string) { c.Files = enginetest.Disk{} })
}

// contract checks an engine that change has changed.
func contract(t *testing.T, change func(c *engine.Config, url string)) {
	t.Helper()
	backendtest.Run(t, backendtest.Factory{
		Has: backendtest.Features{Deltas: true, Stop: true, Switch: true, Fork: true, Confirm: true, Pause: true, Goals: true, GoalsWait: true},
		New: func(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
			server := llmtest.New(t)
			cfg := enginetest.Config(t, server.URL, enginetest.NewProfiles("main", "test", "other", "other"))
			if needs.Confirm {
				cfg.Confirm = agentapi.ConfirmAlways
			}
			change(&cfg, server.URL)
			b := engine.New(cfg)
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
			return &backendtest.Setup{
				Backend: b, LLM: server, Profile: "main", Other: "other", Workspace: t.TempDir(),
				Pause: func(t *testing.T, id string) {
					if err := b.Pause(t.Context(), id); err != nil {
						t.Error(err)
					}
				},
			}
		},
	})
}

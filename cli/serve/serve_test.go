package serve

import (
	"context"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestServeStaysUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, map[string]string{"OHGW_ADDR": "127.0.0.1:0", "OHGW_DEMO": "true", "OH_PERSISTENCE_DIR": t.TempDir()})
	dirs, err := a.Paths()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, &options{App: a.App}) }()
	waittest.Until(t, waittest.Patience, "the address of the daemon is written", func() (any, bool) {
		select {
		case err := <-ended:
			t.Fatalf("it ended at once: %v", err)
		default:
		}
		_, err := instance.Find(dirs.Runtime)
		return err, err == nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := instance.Find(dirs.Runtime); err == nil {
		t.Error("the address of the daemon is still written")
	}
}

func TestDangerousSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string]map[string]string{
		"no key for other machines":                  {"OHGW_ADDR": "0.0.0.0:0", "OHGW_NO_AUTH": "true"},
		"all files as workspace":                     {"OHGW_WORKSPACE": "/"},
		"a shared database with the embedded agent":  {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_BACKEND": "embedded"},
		"a shared database with the demo":            {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_DEMO": "true"},
		"a shared database with OpenHands Cloud":     {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_BACKEND": "cloud"},
		"a shared database with the agent's browser": {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_BROWSER_TOOLS": "true"},
		"a shared database without an agent-server":  {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_KEY_STORE": "file"},
		"a shared database with the keyring":         {"OHGW_STATE": "postgres://127.0.0.1:1/x", "OHGW_AGENT_SERVER_URL": "http://127.0.0.1:1"},
		"the demo with an agent-server":              {"OHGW_ADDR": "127.0.0.1:0", "OHGW_DEMO": "true", "OHGW_BACKEND": "agent-server"},
	} {
		a := clitest.New(t, variables)
		if err := run(t.Context(), &options{App: a.App}); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

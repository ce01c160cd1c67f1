package daemon_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// brittle panics when it is asked for its profiles, or to open a conversation.
type brittle struct {
	*daemontest.Backend
	profiles bool
}

func (b brittle) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	if b.profiles {
		panic("no profiles")
	}
	return b.Backend.Profiles(ctx)
}

func (b brittle) Open(context.Context, agentapi.OpenRequest) (agentapi.Conversation, error) {
	panic("no conversation")
}

func TestAPanicIsAFailureOfItsRequestOnly(t *testing.T) {
	t.Parallel()
	for name, profiles := range map[string]bool{"of a list": true, "of a run": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default")
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.Backend = brittle{b, profiles} })
			res := g.Chat(apitest.Ask("go"))
			apitest.Envelope(t, res, http.StatusInternalServerError, "internal_error", "")
			if res.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("headers %v", res.Header)
			}
			if s := g.Chat(apitest.Ask("go", apitest.Streamed)).Body; !strings.Contains(s, `"code":"internal_error"`) {
				t.Errorf("streamed: %s", s)
			}
			if r := g.Do(http.MethodGet, "/healthz", ""); r.Status != http.StatusOK {
				t.Errorf("the daemon is gone: %d", r.Status)
			}
			if s := g.Logs.String(); !strings.Contains(s, `"msg":"panic"`) || !strings.Contains(s, "broken_test.go") {
				t.Errorf("the log: %s", s)
			}
		})
	}
}

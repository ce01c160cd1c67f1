package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// Backend is a backend, and how it was when the daemon started.
type Backend struct {
	agentapi.Backend

	// Programs is the mark of the programs of agents that run in this process, see
	// sandbox.Mark; "" where they run elsewhere.
	Programs string

	Why    string // it was chosen
	Status agentapi.Status

	Further []string // servers whose profiles are models, too

	Complete daemon.CompleteFunc
	Native   daemon.Native // OpenHands' own API, if it is to be served

	main      agentapi.Backend // without further servers; nil if there are none
	api       *apiBoxes        // of OpenHands' own API; nil for agents in another process
	browsers  *browser.Pool    // of agents in this process; nil for others
	boxes     *manager.Manager // of agents in this process; nil for others
	sandboxBy string           // which setting has switched their sandbox off; "" if none
}

// first is the backend without further servers.
func (c Backend) first() agentapi.Backend {
	if c.main != nil {
		return c.main
	}
	return c.Backend
}

// ForgetWorkspace removes what agents in this process have kept beside a workspace that
// is about to be removed.
func (c Backend) ForgetWorkspace(dir string) error {
	if c.boxes == nil {
		return nil
	}
	return c.boxes.Forget(dir)
}

// Close ends the backend, and then what its sandboxes share.
func (c Backend) Close() error {
	err := c.Backend.Close()
	if c.api != nil {
		err = errors.Join(err, c.api.Close())
	}
	if c.browsers != nil {
		err = errors.Join(err, c.browsers.Close())
	}
	if c.boxes != nil {
		err = errors.Join(err, c.boxes.Close())
	}
	return err
}

// strangersAge is after how long gateways with another state count as gone.
const strangersAge = 10 * time.Minute

// Strangers are the addresses of agent-servers that gateways with another state have
// used a moment ago.
func (c Backend) Strangers(ctx context.Context, state string, now time.Time) ([]string, error) {
	marked, ok := c.first().(agentapi.Marked)
	if !ok {
		return nil, nil
	}
	return marked.Strangers(ctx, state, now.Add(-strangersAge))
}

// Line is the backend in a line: what it is, where it is, and why it was chosen.
func (c Backend) Line() string {
	st := c.Status
	switch {
	case st.Err != nil:
		return fmt.Sprintf("%s at %s, which does not answer yet (%s)", st.Name, st.Address, c.Why)
	case c.InProcess():
		return fmt.Sprintf("%s (%s)", st.Name, c.Why)
	}
	return fmt.Sprintf("%s %s at %s (%s)", st.Name, st.Version, st.Address, c.Why)
}

// Own lists the profiles without those of further servers, which it does not ask.
func (c Backend) Own(ctx context.Context) ([]agentapi.Profile, error) {
	return c.first().Profiles(ctx)
}

// InProcess reports whether the agents run in this process.
func (c Backend) InProcess() bool { return c.Status.Address == "" }

// InCloud reports whether the agents run in sandboxes of OpenHands Cloud.
func (c Backend) InCloud() bool { return c.Status.Name == "cloud" }

// Pooled reports whether the agents run on a pool of agent-servers.
func (c Backend) Pooled() bool { return c.Status.Name == pooled }

// ID names the backend in the state directory. That of a pool stays the same when its
// members change.
func (c Backend) ID() string {
	if c.Pooled() {
		return pooled
	}
	return strings.TrimSpace(c.Status.Name + " " + c.Status.Address)
}

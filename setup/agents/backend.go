package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/internal/routing"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// Backend is a backend, and how it was when the daemon started.
type Backend struct {
	agentapi.Backend

	// Programs is the mark of the programs of agents that run in this process, see
	// sandbox.Mark; "" where they run elsewhere.
	Programs string

	Why    string // it was chosen
	Status agentapi.Status

	Complete completions.CompleteFunc
	// Router is the active meta-profile of OpenHands' files here; nil: there is never one.
	Router func(context.Context) (*routing.Router, error)
	Native daemon.Native // OpenHands' own API, if it is to be served

	adopted   *adoption        // of an agent-server; nil for others
	api       io.Closer        // the boxes of OpenHands' own API; nil for agents in another process
	boxes     *sandboxes.Boxes // of agents in this process; nil for others
	browser   io.Closer        // of the same agents
	sandboxBy string           // which setting has switched their sandbox off; "" if none
}

// Close ends the backend, and then what its sandboxes share.
func (c Backend) Close() error {
	err := c.Backend.Close()
	if c.api != nil {
		err = errors.Join(err, c.api.Close())
	}
	if c.browser != nil {
		err = errors.Join(err, c.browser.Close())
	}
	if c.boxes != nil {
		err = errors.Join(err, c.boxes.Close())
	}
	return err
}

// Boxes are the sandboxes of agents in this process; nil for others.
func (c Backend) Boxes() *sandboxes.Boxes { return c.boxes }

// Tidy removes what sandboxes keep for a workspace that is about to be removed with its
// conversation.
func (c Backend) Tidy(workspace string) error {
	if c.boxes == nil {
		return nil
	}
	return c.boxes.Tidy(workspace)
}

// OfferKeys asks the user whether an agent-server that was found may have stored keys,
// once for each program.
func (c Backend) OfferKeys(ctx context.Context, env *setup.Env) {
	if c.adopted != nil && c.Status.Err == nil {
		c.adopted.offer(ctx, env, c.Status.Version)
	}
}

// KeysWithheld reports whether the backend gets no stored keys, because the user has
// neither named it nor agreed to it.
func (c Backend) KeysWithheld() bool { return c.adopted != nil && !c.adopted.may() }

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

// InProcess reports whether the agents run in this process.
func (c Backend) InProcess() bool { return c.Status.Address == "" }

// InCloud reports whether the agents run in sandboxes of OpenHands Cloud.
func (c Backend) InCloud() bool { return c.Status.Name == "cloud" }

// ID names the backend in the state directory. That of a pool stays when its servers
// change: a conversation is found wherever it is.
func (c Backend) ID() string {
	if c.Pooled() {
		return c.Status.Name
	}
	return strings.TrimSpace(c.Status.Name + " " + c.Status.Address)
}

// Pooled reports whether the backend is a pool of agent-servers.
func (c Backend) Pooled() bool {
	_, ok := c.Backend.(agentapi.Pooled)
	return ok
}

// Sandbox is the sandbox of new conversations. Its level is [sandboxes.Elsewhere] where
// an agent-server runs the commands.
func (c Backend) Sandbox(ctx context.Context) agentapi.SandboxStatus {
	if b, ok := c.Backend.(agentapi.Sandboxed); ok && c.InProcess() {
		return b.Sandbox(ctx)
	}
	st := agentapi.SandboxStatus{Level: sandboxes.Elsewhere}
	if c.InCloud() {
		st.Reason = sandboxes.InCloud
	}
	return st
}

// SandboxLine is the sandbox of new conversations in a line for people.
func (c Backend) SandboxLine(ctx context.Context) string {
	line := sandboxes.Words(c.Sandbox(ctx))
	if c.sandboxBy != "" {
		line += " (set by " + c.sandboxBy + ")"
	}
	return line
}

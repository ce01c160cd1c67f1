package agents

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
)

// openCloud opens the account on a server of OpenHands Cloud and looks whether it can
// be used. One that does not answer may come later.
func openCloud(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Backend, error) {
	a, why, err := cloudAccount(ctx, env, s, log)
	if err != nil {
		return Backend{}, err
	}
	b := cloud.New(cloud.Config{Account: a.Client, Connect: sandboxOf(env, log), Logger: log, Now: env.Now, Titles: s.Titles == titlesByLLM})
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	chosen := Backend{Backend: b, Why: why, Status: b.Status(look)}
	if err := usableCloud(ctx, chosen.Status, a.Server); err != nil {
		return Backend{}, errors.Join(err, b.Close())
	}
	warnOfFlags(env, s, "the cloud at "+chosen.Status.Address)
	if s.Workspace != "" {
		env.Note("warning: no effect of the workspace %s (%s): each conversation has the directory of its sandbox", s.Workspace, s.Origin("workspace"))
	}
	return chosen, nil
}

// cloudAccount is the account that the settings mean, and why it is that one.
func cloudAccount(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (accounts.Account, string, error) {
	why := "chosen by " + s.Origin("backend").String()
	switch {
	case s.Cloud.Server != "":
		why = "named by " + s.Origin("cloud.server").String()
	case s.Cloud.URL != "":
		a, err := accounts.OpenAt(ctx, env, s, s.Cloud.URL, log)
		return a, "named by " + s.Origin("cloud.url").String(), err
	}
	a, err := accounts.Open(ctx, env, s, s.Cloud.Server, log)
	return a, why, err
}

// usableCloud reports why the daemon does not start with an account like that.
func usableCloud(ctx context.Context, st agentapi.Status, server servers.Server) error {
	switch {
	case st.Err == nil, errors.Is(st.Err, agentapi.ErrUnavailable):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(st.Err, agentapi.ErrUnauthorized):
		return accounts.Fault(st.Err, server)
	}
	cause := errors.New(agentapi.PublicMessage(st.Err, "It does not answer."))
	return &fault.Error{Msg: "the cloud at " + st.Address + " cannot be used", Hint: "repair what the cause says; ohgw server test " + server.Name + " checks it", Err: cause}
}

// sandboxOf makes the backend over the agent-server of a sandbox.
func sandboxOf(env *setup.Env, log *slog.Logger) func(string, hidden.Text) (cloud.Agent, error) {
	return func(address string, key hidden.Text) (cloud.Agent, error) {
		b, err := agentserver.New(agentserver.Config{URL: address, Key: key.Reveal, Logger: log, Now: env.Now})
		if err != nil {
			return nil, err
		}
		return sandboxed{b}, nil
	}
}

// sandboxed is an agent-server as the cloud backend wants it.
type sandboxed struct{ *agentserver.Backend }

// Mark notes what a conversation is for.
func (s sandboxed) Mark(ctx context.Context, id, profile string, system *string, title string) error {
	return s.Backend.Mark(ctx, id, agentserver.Mark{Profile: profile, System: system, Title: title})
}

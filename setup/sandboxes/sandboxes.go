// Package sandboxes makes the sandboxes of agents in this process from the user's
// settings, and says in words for people which sandbox there is, why it is not better,
// and how to repair it. It starts no agent.
//
// Every path that leaves it exists and has no symbolic links, and every error about a
// setting names the setting.
package sandboxes

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/setup"
)

// Boxes makes the sandboxes of conversations.
type Boxes struct {
	*manager.Manager

	homes *homes // set by SweepHomes
}

// Open makes what keeps the agents' programs in sandboxes, or says why they cannot be
// kept there as the user wants it. conversations is the directory of all conversations.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, dirs paths.Set, places profile.Places, conversations string, log *slog.Logger) (*Boxes, error) {
	chosen, err := sandboxSettings(env, s)
	if err != nil {
		return nil, err
	}
	m, err := manager.New(ctx, manager.Config{
		Settings: chosen, Sought: func() []uint16 { return setup.SoughtPorts(context.Background(), env, s) },
		User: boxes.User{
			Home: dirs.Home, State: dirs.State, Environ: env.Environ(), Private: append(places.Private(), dirs.Config, dirs.Runtime),
		},
		Conversations: conversations, Scripted: scripted(s), Reserved: setup.ReservedPorts(s), Getenv: env.Getenv, Executable: env.Executable, Now: env.Now, Log: log,
	})
	if err != nil {
		return nil, noSandbox(err)
	}
	if s.Workspace != "" {
		// What else is wrong with the directory is said where that is looked at.
		if err := m.Check(s.Workspace); isPlace(err) {
			return nil, errors.Join(noSandbox(err), m.Close())
		}
	}
	m.Prepare(s.Workspace)
	return &Boxes{Manager: m}, nil
}

// isPlace reports whether err says that no workspace can be where one is.
func isPlace(err error) bool {
	_, home := errors.AsType[*boxes.HomeError](err)
	_, private := errors.AsType[*boxes.PrivateError](err)
	return home || private
}

// noSandbox says that agents cannot run as the user wants it, and the ways out.
func noSandbox(err error) error {
	if isPlace(err) {
		return &fault.Error{
			Msg: err.Error() + ", and the sandbox keeps agents out of that", Code: fault.Refused,
			Hint: "choose the directory of one project: --workspace DIRECTORY; or let the agent have all of it: --sandbox off",
		}
	}
	e, ok := errors.AsType[*manager.LevelError](err)
	if !ok {
		return fault.New("the sandbox cannot be set up", "see: ohgw sandbox status", err)
	}
	return &fault.Error{Msg: e.Error(), Code: fault.Refused, Hint: waysOut(e)}
}

// waysOut are what a person can do without the sandbox that was asked for.
func waysOut(e *manager.LevelError) string {
	ways := e.Status.Fix
	if e.Status.Level == sandbox.Reduced {
		ways += "; or accept it: --sandbox-require reduced"
	}
	return ways + "; or use an agent-server in a container: --agent-server URL; or let agents have all your rights: --sandbox off"
}

// Make makes the box of one of the engine's conversations.
func (b *Boxes) Make(ctx context.Context, e engine.BoxEnv) (sandbox.Box, error) {
	box, err := b.Box(ctx, manager.Env(e))
	if err == nil || ctx.Err() != nil {
		return box, err
	}
	if lacking, none := errors.AsType[*manager.LevelError](err); none {
		return nil, unavailable(b.Manager, lacking)
	}
	msg := "The sandbox of the agent cannot be set up; nothing was done outside of it."
	if home, ok := errors.AsType[*boxes.HomeError](err); ok {
		msg = "The sandbox keeps agents out of your home directory, and " + home.Error() + "; choose the directory of one project."
	} else if private, ok := errors.AsType[*boxes.PrivateError](err); ok {
		msg = "The sandbox keeps agents out of OpenHands' files, and " + private.Error() + "; choose the directory of one project."
	}
	return nil, &agentapi.Error{Kind: agentapi.ErrSandbox, Msg: msg, Err: err, InProcess: true}
}

// ForPeople is the sandbox of new conversations, for people.
func (b *Boxes) ForPeople() agentapi.SandboxStatus {
	st := b.Status()
	return agentapi.SandboxStatus{Level: string(st.Level), Reason: st.Reason, Fix: st.Fix, Landlock: st.Landlock, Open: b.Open()}
}

// SwitchedOff names what has switched the sandbox off; "" if nothing has.
func SwitchedOff(s *config.Settings) string {
	if manager.Mode(s.Sandbox.Mode) != manager.Off {
		return ""
	}
	return s.Origin("sandbox.mode").String()
}

// Allow takes what a person answered to something that a sandbox refused.
func (b *Boxes) Allow(ctx context.Context, e engine.BoxEnv, g agentapi.Grant) error {
	if level := b.Status().Level; level == sandbox.Off || level == sandbox.External {
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "The agents do not run in a sandbox, so there is nothing to allow."}
	}
	err := b.Answer(ctx, manager.Env(e), manager.Answer{Access: sandbox.Access(g.Access), Target: g.Target, Scope: manager.Scope(g.Scope)})
	if err == nil || ctx.Err() != nil {
		return err
	}
	refused := &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The sandbox does not take this grant.", Err: err}
	if e, ok := errors.AsType[*grants.InvalidError](err); ok {
		refused.Msg = "This cannot be allowed: " + e.Error() + "."
	} else if e, ok := errors.AsType[*manager.OnceError](err); ok {
		refused.Msg = "This cannot be allowed: " + e.Error() + "."
	}
	return refused
}

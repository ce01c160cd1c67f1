// Package agents opens what runs the agents: an agent-server that was named or
// found, or the embedded agent, with the keys and profiles that it needs.
package agents

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
)

// DefaultServer is where an agent-server listens when nobody says otherwise.
const DefaultServer = "http://" + defaultAddress

const defaultAddress = "127.0.0.1:8000"

// FirstLook bounds how long the start waits for the backend's answer.
const FirstLook = 2 * time.Second

// Open chooses what runs the agents: an agent-server that was named, or
// one that answers on this machine, or the embedded agent.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Backend, error) {
	switch {
	case s.Backend == "embedded":
		return openEngine(ctx, env, s, log, "chosen by "+s.Origin("backend").String())
	case s.Demo && s.Backend == "auto":
		return openEngine(ctx, env, s, log, "the demo needs it ("+s.Origin("demo").String()+")")
	case s.Demo:
		return Backend{}, fault.NewUsage("--demo needs the embedded agent", "remove --backend or --demo")
	}
	chosen, err := openServer(ctx, env, s, log)
	if nobody := fault.CodeOf(err) == fault.Unreachable; nobody && s.Backend == "auto" && s.AgentServer.URL == "" {
		return openEngine(ctx, env, s, log, "no agent-server was named, and none answers at "+DefaultServer)
	}
	return chosen, err
}

// Find is the address of the agent-server that answers where Open would look for
// one; "" if none does.
func Find(ctx context.Context, env *setup.Env, s *config.Settings) string {
	address := cmp.Or(s.AgentServer.URL, "http://"+env.UsualAddress(defaultAddress))
	if s.Backend == "embedded" {
		return ""
	}
	if _, err := agentserver.Probe(ctx, env.HTTP, address); err != nil {
		return ""
	}
	return address
}

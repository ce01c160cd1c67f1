// Package agents opens what runs the agents: an agent-server that was named or
// found, an account on OpenHands Cloud, or the embedded agent with the profiles,
// keys and sandboxes that it needs.
//
// A backend comes with OpenHands' own API, if that is wanted: passed on to an
// agent-server, or served over the embedded agent by package openhandsapi.
package agents

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
)

// DefaultServer is where an agent-server listens unless it is configured otherwise.
const DefaultServer = "http://" + defaultAddress

const defaultAddress = "127.0.0.1:8000" // of localport.AgentServer

// FirstLook bounds how long the start waits for the backend's answer.
const FirstLook = 2 * time.Second

// Open chooses what runs the agents: OpenHands Cloud, if it is chosen, or an
// agent-server that was named, or one that answers on this machine, or the embedded
// agent. With settings of the sandbox, an agent-server has to be named.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Backend, error) {
	return OpenNoted(ctx, env, s, log, nil)
}

// OpenNoted opens what Open does, with the notes of a pool that several gateways share; nil:
// this gateway's own.
func OpenNoted(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger, notes placement.Placer) (Backend, error) {
	switch {
	case s.Backend == "embedded":
		return openEngine(ctx, env, s, log, "chosen by "+s.Origin("backend").String())
	case s.Demo && s.Backend == "auto":
		return openEngine(ctx, env, s, log, "the demo needs it ("+s.Origin("demo").String()+")")
	case s.Demo:
		return Backend{}, fault.NewUsage("--demo needs the embedded agent", "remove --backend or --demo")
	}
	if from, err := browserFrom(s); err != nil {
		return Backend{}, err
	} else if from != "" {
		return openEngine(ctx, env, s, log, "the browser needs it ("+from+")")
	}
	if s.Backend == "cloud" {
		return openCloud(ctx, env, s, log)
	}
	if pool.IsPool(s.AgentServer.URLs) {
		return openPool(ctx, env, s, log, notes)
	}
	if why := notAdopted(ctx, env, s); why != "" {
		return openEngine(ctx, env, s, log, why)
	}
	chosen, err := openServer(ctx, env, s, log)
	if err == nil {
		warnOfFlags(env, s, "the agent-server at "+chosen.Status.Address)
	}
	if nobody := fault.CodeOf(err) == fault.Unreachable; nobody && s.Backend == "auto" && len(s.AgentServer.URLs) == 0 {
		return openEngine(ctx, env, s, log, "no agent-server was named, and none answers at "+DefaultServer)
	}
	return chosen, err
}

// browserFrom returns where the user has asked for the browser of the embedded agent, so that
// no other backend is used; "" if that was not asked for, or another one was chosen. On the
// command line the two contradict each other.
func browserFrom(s *config.Settings) (from string, err error) {
	wanted, o := s.BrowserTools, s.Origin("browser_tools")
	if window := s.Origin("browser_headed"); s.BrowserHeaded && window.Kind == config.FromFlag && (!wanted || o.Kind != config.FromFlag) {
		wanted, o = true, window
	}
	switch other := s.Backend != "auto" || len(s.AgentServer.URLs) > 0; {
	case !wanted:
		return "", nil
	case !other:
		return o.String(), nil
	case o.Kind == config.FromFlag:
		return "", fault.NewUsage(o.String()+" needs the embedded agent", "leave it out, or choose the embedded agent: --backend embedded")
	}
	return "", nil
}

// notAdopted returns why an agent-server that answers on this machine is not
// used, although no other backend was chosen: it would run the commands outside
// of the sandbox, and a user who has set anything of the sandbox wants one. It
// returns "" if there is no such server, or no such setting.
func notAdopted(ctx context.Context, env *setup.Env, s *config.Settings) string {
	key, from := setSandbox(s)
	if key == "" || s.Backend != "auto" || len(s.AgentServer.URLs) > 0 {
		return ""
	}
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	address := Find(look, env, s)
	if address == "" {
		return ""
	}
	return fmt.Sprintf("an agent-server answers at %s, but %s is set (%s): name it with --agent-server to use it", address, key, from)
}

// IsEmbedded reports whether Open makes the embedded agent without a look for an
// agent-server to use.
func IsEmbedded(ctx context.Context, env *setup.Env, s *config.Settings) bool {
	if s.Backend == "embedded" || s.Demo && s.Backend == "auto" {
		return true
	}
	from, err := browserFrom(s)
	return from != "" || err == nil && notAdopted(ctx, env, s) != ""
}

// setSandbox is the first setting of the sandbox that is not a default, and where it
// was set; "" if there is none.
func setSandbox(s *config.Settings) (key, from string) {
	for _, f := range config.Fields() {
		if o := s.Origin(f.Key); f.Section == config.SandboxSection && o.Kind != config.FromDefault {
			return f.Key, o.String()
		}
	}
	if len(s.Workspaces) > 0 {
		return "sandbox.workspace", s.File
	}
	return "", ""
}

// warnOfFlags says that what runs the agents elsewhere does not know the flags of the
// sandbox.
func warnOfFlags(env *setup.Env, s *config.Settings, what string) {
	if flags := s.GivenIn(config.SandboxSection); len(flags) > 0 {
		env.Note("warning: no effect of %s: %s runs commands outside of ohgw's sandbox", strings.Join(flags, ", "), what)
	}
}

// Find is the address of the agent-server that answers where Open would look for
// one; "" if none does.
func Find(ctx context.Context, env *setup.Env, s *config.Settings) string {
	address := cmp.Or(strings.TrimPrefix(s.AgentServer.URL(), pool.DNS), "http://"+env.UsualAddress(defaultAddress))
	if s.Backend == "embedded" || s.Backend == "cloud" {
		return ""
	}
	if _, err := agentserver.Probe(ctx, env.HTTP, address); err != nil {
		return ""
	}
	return address
}

// Package serverpool makes a pool of the agent-servers that the settings name: its notes in
// the state directory where no others are given, the members that DNS names, and the LLMs of
// its profiles. Who opens the members says how.
package serverpool

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/directllm"
)

// notesDir is the directory with the notes of a pool, in the state directory.
const notesDir = "pool"

// New makes the pool over its notes. It begins to ask its members.
func New(env *setup.Env, s *config.Settings, log *slog.Logger, notes placement.Placer, open func(address string) (agentapi.Backend, error)) (*pool.Backend, error) {
	return pool.New(pool.Config{
		Servers: s.AgentServer.URLs, Slots: s.AgentServer.Slots, Placer: notes, Logger: log, Now: env.Now, Lookup: lookUp(net.DefaultResolver), Open: open,
	})
}

// Notes opens the notes of the pool of this user.
func Notes(env *setup.Env) (placement.Placer, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	return placement.NewLocal(filepath.Join(dirs.State, notesDir), env.Now), nil
}

// lookUp finds the members that a name has: the targets of its service records if it is
// one of a service, such as _http._tcp.agents.example, else its addresses. Service
// records have names that stay when an address changes.
func lookUp(dns *net.Resolver) func(ctx context.Context, host, port string) ([]string, error) {
	return func(ctx context.Context, host, port string) ([]string, error) {
		var list []string
		if strings.HasPrefix(host, "_") {
			_, records, err := dns.LookupSRV(ctx, "", "", host)
			for _, r := range records {
				list = append(list, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
			}
			return list, err
		}
		addresses, err := dns.LookupHost(ctx, host)
		for _, a := range addresses {
			list = append(list, net.JoinHostPort(a, port))
		}
		return list, err
	}
}

// LLMs finds the LLM of a profile at whichever member has it.
func LLMs(b *pool.Backend) func(context.Context, string, llm.Config) (llm.Config, error) {
	return func(ctx context.Context, profile string, cfg llm.Config) (found llm.Config, err error) {
		err = b.With(ctx, profile, func(to agentapi.Backend) error {
			server, ok := to.(*agentserver.Backend)
			if !ok {
				return errors.New("a member of the pool is not an agent-server")
			}
			found, err = directllm.OfServer(server)(ctx, profile, cfg)
			return err
		})
		return found, err
	}
}

package agents

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
)

const (
	// pooled is the name of a pool as a backend.
	pooled = "pool"
	// poolDir is the directory with the notes of a pool, in the state directory.
	poolDir = "pool"
)

// openPool opens several agent-servers as one backend. Those that are down may come
// later.
func openPool(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger, over Over) (Backend, error) {
	from := s.Origin("agent_server.url").String()
	if s.Native {
		return Backend{}, fault.NewUsage("OpenHands' own API cannot be served for several agent-servers ("+s.Origin("native").String()+", "+from+"): its clients ask one server for everything", "remove --native, or name one agent-server")
	}
	open, err := serverOpener(env, s, log, over.State)
	if err != nil {
		return Backend{}, err
	}
	notes, closeNotes := over.Notes, func() error { return nil }
	if notes == nil {
		if notes, closeNotes, err = PoolNotes(env, s); err != nil {
			return Backend{}, err
		}
	}
	b, err := pool.New(pool.Config{ //nolint:contextcheck // It ends with Close.
		Servers: s.AgentServer.URLs, Slots: s.AgentServer.Slots, Placer: notes, Logger: log, Now: env.Now, Lookup: lookUp(net.DefaultResolver),
		Open: func(address string) (agentapi.Backend, error) { return open(address) },
	})
	if err != nil {
		return Backend{}, errors.Join(err, closeNotes())
	}
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	chosen := Backend{
		Backend: &withNotes{b, closeNotes}, Why: "named by " + from, Status: b.Status(look),
		Complete: (&directLLM{base: llmConfig(env, log), load: poolLLMs(b)}).complete,
	}
	warnOfFlags(env, s, "the pool of agent-servers")
	if err := usable(ctx, chosen.Status, true); err != nil {
		return Backend{}, errors.Join(err, chosen.Close())
	}
	return chosen, nil
}

// MaxRuns is how many runs go on at the same time: as many as the settings say, or the
// slots that a pool has now where they say nothing.
func MaxRuns(ctx context.Context, s *config.Settings) int {
	if !pool.IsPool(s.AgentServer.URLs) || s.Origin("max_runs").Kind != config.FromDefault {
		return s.MaxRuns
	}
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	return max(s.MaxRuns, s.AgentServer.Slots*pool.Count(look, s.AgentServer.URLs, lookUp(net.DefaultResolver)))
}

// FollowRuns has told called with how many runs go on at the same time, when a pool gets
// more slots: a name has more servers, or had none yet when the gateway started. What told
// cannot take comes again. A number in the settings stays.
func (c Backend) FollowRuns(s *config.Settings, told func(runs int) error) {
	p, ok := c.first().(*withNotes)
	if !ok || s.Origin("max_runs").Kind != config.FromDefault {
		return
	}
	var mu sync.Mutex
	most := s.MaxRuns
	p.OnCount(func(members int) {
		mu.Lock()
		defer mu.Unlock()
		if runs := s.AgentServer.Slots * members; runs > most && told(runs) == nil {
			most = runs
		}
	})
}

// withNotes is a pool that ends with its notes.
type withNotes struct {
	*pool.Backend

	closeNotes func() error
}

// Close ends both.
func (w *withNotes) Close() error { return errors.Join(w.Backend.Close(), w.closeNotes()) }

// PoolNotes are the notes of the pool that the settings name: in the state that
// gateways share, else in the state directory.
func PoolNotes(env *setup.Env, s *config.Settings) (notes placement.Placer, end func() error, err error) {
	if s.State.Shared() {
		db, err := env.Database(s)
		if err != nil {
			return nil, nil, err
		}
		return db.Placement(), func() error { db.Close(); return nil }, nil
	}
	dirs, err := env.Dirs()
	if err != nil {
		return nil, nil, err
	}
	return placement.NewLocal(filepath.Join(dirs.State, poolDir), env.Now), func() error { return nil }, nil
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

// poolLLMs are the LLMs of a pool's profiles, of whichever member has them.
func poolLLMs(b *pool.Backend) func(context.Context, string, llm.Config) (llm.Config, error) {
	return func(ctx context.Context, profile string, cfg llm.Config) (found llm.Config, err error) {
		err = b.With(ctx, profile, func(to agentapi.Backend) error {
			server, ok := to.(*agentserver.Backend)
			if !ok {
				return errors.New("a member of the pool is not an agent-server")
			}
			found, err = serverLLMs(server)(ctx, profile, cfg)
			return err
		})
		return found, err
	}
}

//go:build e2e && unix

package scale_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// TestAPooler has PgBouncer in transaction mode in front of the database, with and without a
// session of each gateway that goes around it, while gateways die.
func TestAPooler(t *testing.T) {
	var all []figures
	for _, session := range []string{direct, "off"} {
		t.Run("session "+session, func(t *testing.T) {
			began, w := time.Now(), newWorld(t, options{session: session})
			for _, g := range w.gateways {
				a := w.message(keyed, "[[wait 1s]]")
				a.first = g.URL
				var clients sync.WaitGroup
				clients.Go(func() { w.ask(t.Context(), a) })
				w.awaitAsked(t, a)
				dead := time.Now()
				g.kill()
				for _, m := range modes {
					clients.Go(func() { w.ask(t.Context(), w.message(m, "")) })
				}
				clients.Wait()
				t.Logf("all have their answers %v after the death", time.Since(dead).Round(time.Millisecond))
				g.start(t)
			}
			f := w.settle(t)
			f.row, f.deaths, f.took = "pooler, session "+session, w.deaths(), time.Since(began)
			all = append(all, f)
		})
	}
	t.Log("\n" + table(all))
}

// atAgents are the steps at an agent-server. They are between two steps at the database.
var atAgents = []string{"open", "watch", "append", "run"}

// TestRealAgentServers lets gateways die before and after each step at the database, over a pool
// of three real agent-servers. One of these is of a version without numbered events and without a
// limit of runs. Then one of them dies, too.
func TestRealAgentServers(t *testing.T) {
	began, r := time.Now(), rand.New(rand.NewPCG(seed(t), 2))
	servers := startServers(t, agentservertest.Newest, agentservertest.Newest, agentservertest.Earlier)
	o := options{args: []string{"--max-runs", "6"}, prepare: func(llm string) {
		for _, s := range servers {
			s.SaveProfile(t, "scripted", agentservertest.LLM(llm))
		}
	}}
	for _, s := range servers {
		o.agents = append(o.agents, s.URL)
	}
	w := newWorld(t, o)
	var steps []string
	for _, p := range points {
		if p != "delivered" && p != "secure" && !slices.Contains(atAgents, p) { // the first two are not done for a key
			steps = append(steps, "before "+p, "after "+p)
		}
	}
	r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	work := make(chan string)
	var wg sync.WaitGroup
	for i := range w.gateways {
		wg.Go(func() {
			for step := range work {
				w.die(t, w.gateways[i], step, keyed)
			}
		})
	}
	for _, step := range steps {
		work <- step
	}
	close(work)
	wg.Wait()
	w.serverDies(t, servers[0])
	w.revive(t)
	f := w.settle(t)
	f.row, f.deaths, f.took = "three real agent-servers", w.deaths()+1, time.Since(began)
	t.Log("\n" + table([]figures{f}))
	for _, s := range servers {
		var found struct{ Items []any }
		s.Call(t, http.MethodGet, "/api/conversations/search", nil, &found)
		if len(found.Items) == 0 {
			t.Errorf("the agent-server at %s has no conversation", s.URL)
		}
	}
}

// startServers starts agent-servers of these versions beside each other.
func startServers(t *testing.T, versions ...string) []*agentservertest.Server {
	t.Helper()
	servers := make([]*agentservertest.Server, len(versions))
	for i, v := range versions {
		servers[i] = agentservertest.StartVersion(t, v)
	}
	return servers
}

// serverDies kills an agent-server under load. Its runs may fail, and those of the others do not.
func (w *world) serverDies(t *testing.T, s *agentservertest.Server) {
	t.Helper()
	var clients sync.WaitGroup
	outcomes := make([]outcome, 6)
	asks := make([]ask, len(outcomes))
	for i := range asks {
		asks[i] = w.message(modes[i%len(modes)], "[[wait 2s]]")
		asks[i].sure = false
		clients.Go(func() { outcomes[i] = w.ask(t.Context(), asks[i]) })
	}
	for _, a := range asks {
		w.awaitAsked(t, a)
	}
	s.Kill(t)
	clients.Wait()
	s.Restart(t)
	answered := slices.DeleteFunc(outcomes, func(o outcome) bool { return o.err != nil })
	t.Logf("%d of %d runs have their answers although an agent-server died", len(answered), len(asks))
	if len(answered) == 0 {
		t.Error("no run has its answer after the death of one agent-server of three")
	}
	if o := w.ask(t.Context(), w.message(keyed, "")); o.err != nil {
		t.Errorf("after the restart of the agent-server: %v", o.err)
	}
}

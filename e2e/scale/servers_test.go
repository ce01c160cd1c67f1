//go:build e2e && unix

package scale_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// TestARealAgentServer lets gateways die before and after each step, with a real
// agent-server.
func TestARealAgentServer(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 2))
	agents := agentservertest.Start(t)
	w := newWorld(t, options{agents: agents.URL, args: []string{"--max-runs", "6"}})
	agents.SaveProfile(t, "scripted", agentservertest.LLM(w.llm.URL))
	all := make([]string, 0, 2*len(points))
	for _, p := range points {
		if p != "delivered" { // which is not noted of a request with a key
			all = append(all, "before "+p, "after "+p)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	work := make(chan string)
	var wg sync.WaitGroup
	for i := range w.gateways {
		wg.Go(func() {
			for p := range work {
				w.die(t, w.gateways[i], p, keyed)
			}
		})
	}
	for _, p := range all {
		work <- p
	}
	close(work)
	wg.Wait()
	w.settle(t)
	t.Logf("%d deaths", w.deaths())
}

// TestAPooler has PgBouncer in transaction mode before the database, with and without
// a session of each gateway that goes around it.
func TestAPooler(t *testing.T) {
	for _, session := range []string{"direct", "off"} {
		t.Run("session "+session, func(t *testing.T) {
			w := newWorld(t, options{state: func(state string) (string, string) {
				_, name := socketOf(t, state)
				if session == "off" {
					return database.Pooler(t, name), session
				}
				return database.Pooler(t, name), state
			}})
			ctx := t.Context()
			for _, m := range modes {
				for range 5 {
					if o := w.ask(ctx, w.message(m, "")); o.err != nil {
						t.Error(o.err)
					}
				}
			}
			g := w.gateways[0]
			a := w.message(keyed, "[[wait 1s]]")
			a.first = g.URL
			began := time.Now()
			var client sync.WaitGroup
			client.Go(func() { w.ask(ctx, a) })
			w.awaitAsked(t, a)
			g.kill()
			client.Wait()
			t.Logf("a crash costs its client %v", time.Since(began).Round(time.Millisecond))
			w.settle(t)
		})
	}
}

// TestAPoolOfAgentServers has two of them. Gateways die at the steps of the database,
// which they come to wherever a conversation is.
func TestAPoolOfAgentServers(t *testing.T) {
	steps := slices.DeleteFunc(slices.Clone(points), func(p string) bool {
		return slices.Contains([]string{"open", "watch", "append", "run", "secure", "delivered"}, p) // at one agent-server, or without a key
	})
	r := rand.New(rand.NewPCG(seed(t), 3))
	other := fakeserver.New(t, fakeserver.Options{Key: agentKey})
	w := newWorld(t, options{args: []string{"--agent-server", other.URL}})
	other.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: w.llm.URL, Key: llmKey})
	var wg sync.WaitGroup
	for i := range w.gateways {
		of := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		wg.Go(func() {
			for range 10 {
				p := steps[of.IntN(len(steps))]
				w.die(t, w.gateways[i], "after "+p, modes[of.IntN(len(modes))])
			}
		})
	}
	wg.Wait()
	if len(w.fake.Conversations()) == 0 || len(other.Conversations()) == 0 {
		t.Errorf("%d conversations on one agent-server, %d on the other", len(w.fake.Conversations()), len(other.Conversations()))
	}
	w.revive(t)
	w.settle(t)
}

// TestTwoStatesForOneAgentServer: the second gateway and its doctor name the agent-server
// whose runs another one knows of; with one state nothing is said.
func TestTwoStatesForOneAgentServer(t *testing.T) {
	const said = "gateways with another state"
	w := newWorld(t, options{gateways: 1, direct: true})
	if o := w.ask(t.Context(), w.message(conversation, "")); o.err != nil {
		t.Fatal(o.err)
	}
	w.gateways[0].kill()
	w.gateways[0].start(t)
	other := newWorld(t, options{gateways: 1, direct: true, agents: w.fake.URL})
	for _, look := range []struct {
		g    *gateway
		want bool
	}{{other.gateways[0], true}, {w.gateways[0], false}} {
		doctor := exec.CommandContext(t.Context(), look.g.program, "doctor", "--json")
		doctor.Env = append(slices.Clone(look.g.env), "OHGW_AGENT_SERVER_URL="+w.fake.URL)
		report, _ := doctor.Output() // it also looks for what this world does not have
		// The gateway answers before the agent-server has listed its conversations.
		var log []byte
		for range 300 {
			var err error
			if log, err = os.ReadFile(look.g.log()); err != nil {
				t.Fatal(err)
			}
			if !look.want || bytes.Contains(log, []byte(said)) || !wait(t.Context(), 100*time.Millisecond) {
				break
			}
		}
		if bytes.Contains(log, []byte(said)) != look.want || bytes.Contains(report, []byte(said)) != look.want {
			t.Errorf("of %s want %v: the log: %s\nthe doctor: %s", look.g.address, look.want, log, report)
		}
	}
}

//go:build e2e && unix

package scale_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// world is gateways with everything around them.
type world struct {
	*books

	state    string // URL of the database
	pooler   string // and through a pooler
	fake     *fakeserver.Server
	gateways []*gateway
	balancer *balancer
}

// direct are the sessions of gateways that go around a pooler.
const direct = "direct"

// options say which world it is. Zero values: three gateways, a fake agent-server.
type options struct {
	gateways int
	program  string
	agents   []string // URLs of agent-servers that run already
	alone    bool     // the gateway shares nothing
	room     int      // runs at the same time of the fake agent-server; 0: 10, as a real one has
	direct   bool     // no taps
	args     []string
	prepare  func(llm string) // is done before the gateways start; llm is the URL of the LLM
	session  string           // behind a pooler, where the sessions of gateways go: direct or off; empty: no pooler
}

// socketOf is where the socket of a database is, and its name.
func socketOf(tb testing.TB, state string) (dir, name string) {
	tb.Helper()
	u, err := url.Parse(state)
	if err != nil {
		tb.Fatal(err)
	}
	return u.Query().Get("host"), u.Path[1:]
}

func newWorld(tb testing.TB, o options) *world {
	tb.Helper()
	w := &world{state: database.Database(tb)}
	llm := llmtest.New(tb)
	w.books = newBooks(llm)
	if o.prepare != nil {
		o.prepare(llm.URL)
	}
	if o.session != "" {
		_, name := socketOf(tb, w.state)
		w.pooler = database.Pooler(tb, name)
	}
	if o.program == "" {
		o.program = program(tb)
	}
	if o.gateways == 0 {
		o.gateways = 3
	}
	if len(o.agents) == 0 {
		w.fake = fakeserver.New(tb, fakeserver.Options{Key: agentKey, MaxRuns: o.room})
		w.fake.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: llmKey})
		o.agents = []string{w.fake.URL}
	}
	if out, err := exec.Command(o.program, "state", "migrate", "--state", w.state).CombinedOutput(); err != nil {
		tb.Fatalf("ohgw state migrate: %v\n%s", err, out)
	}
	for range o.gateways {
		w.gateways = append(w.gateways, w.newGateway(tb, o))
	}
	var all sync.WaitGroup
	for _, g := range w.gateways {
		all.Go(func() {
			if err := g.launch(tb); err != nil {
				tb.Error(err)
			}
		})
	}
	all.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
	w.balancer = newBalancer(tb, w.gateways)
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var watch sync.WaitGroup
	watch.Go(func() { w.watch(ctx) })
	tb.Cleanup(func() {
		stop()
		watch.Wait()
	})
	return w
}

// watch takes gateways that are not ready out of the balancer, and collects what the
// LLM was asked.
func (w *world) watch(ctx context.Context) {
	for ctx.Err() == nil {
		for i, g := range w.gateways {
			w.balancer.out[i].Store(!g.isReady(ctx))
		}
		w.collect()
		if w.fake != nil {
			w.fake.Forget()
		}
		wait(ctx, 300*time.Millisecond)
	}
}

func (w *world) newGateway(tb testing.TB, o options) *gateway {
	tb.Helper()
	address, home := processtest.FreeAddress(tb), tb.TempDir()
	g := &gateway{URL: "http://" + address, address: address, home: home, program: o.program}
	agents := slices.Clone(o.agents)
	if !o.direct && len(agents) == 1 { // several have the same names for all gateways
		g.road = newRoad(tb, agents[0], g.at)
		agents[0] = g.road.URL
	}
	for _, url := range agents {
		g.args = append(g.args, "--agent-server", url)
	}
	g.args = append(g.args,
		"--key-store", "file", "--log-format", "json", "--max-runs", "48", "--max-queue", "400",
		"--drain", "30s", "--progress", "off",
	)
	g.args = append(g.args, o.args...)
	g.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OHGW_AGENT_SERVER_KEY=" + agentKey, "OHGW_API_KEYS=" + gatewayKey,
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_DATA_HOME=" + filepath.Join(home, "data"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "GORACE=exitcode=66",
	}
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		tb.Fatal(err)
	}
	if !o.alone {
		g.env = append(g.env, w.shares(tb, g, o)...)
	}
	tb.Cleanup(func() {
		g.disarm()
		if g.wire != nil {
			g.wire.let()
		}
		g.signal(syscall.SIGCONT)
		if err := g.end(syscall.SIGTERM); err != nil {
			tb.Errorf("the gateway ends with %v", err)
		}
		g.inspect(tb)
		if dir := os.Getenv("OHGW_SCALE_LOGS"); dir != "" && tb.Failed() {
			_ = os.Rename(g.log(), filepath.Join(dir, g.address+".log"))
		}
	})
	return g
}

// shares is the environment of a gateway with a shared state.
func (w *world) shares(tb testing.TB, g *gateway, o options) []string {
	tb.Helper()
	dir, name := socketOf(tb, w.state)
	switch {
	case o.session == direct:
		return []string{"OHGW_STATE=" + w.pooler, "OHGW_STATE_SESSION=" + w.state}
	case o.session != "":
		return []string{"OHGW_STATE=" + w.pooler, "OHGW_STATE_SESSION=" + o.session}
	case o.direct:
		return []string{"OHGW_STATE=" + w.state}
	}
	g.wire = newWire(tb, filepath.Join(dir, wirePort), g.at)
	return []string{"OHGW_STATE=postgres:///" + name + "?host=" + url.QueryEscape(g.wire.dir) + "&user=ohgw"}
}

// ask asks through the balancer.
func (w *world) ask(ctx context.Context, a ask) outcome { return w.send(ctx, w.balancer.URL, a) }

// revive starts the gateways that are dead.
func (w *world) revive(tb testing.TB) {
	tb.Helper()
	for _, g := range w.gateways {
		if !g.isUp() {
			g.start(tb)
		}
	}
}

// deaths is how often a gateway was killed.
func (w *world) deaths() (n int) {
	for _, g := range w.gateways {
		g.mu.Lock()
		n += g.deaths
		g.mu.Unlock()
	}
	return n
}

// settle waits until nothing goes on, and closes the books of a row: no run is left in
// the database, no slot is taken, nothing ran twice, nothing is lost, no client hangs.
func (w *world) settle(t *testing.T) figures {
	t.Helper()
	w.rest(t)
	f := w.close(t)
	if f.double > 0 || f.lost > 0 || f.hung > 0 {
		t.Errorf("%d messages ran twice, %d answers are lost, %d clients hang", f.double, f.lost, f.hung)
	}
	return f
}

// rest waits until no run is left in the database, and no slot is taken.
func (w *world) rest(t *testing.T) {
	t.Helper()
	waittest.Until(t, patience, "no run is left in the database", func() (any, bool) {
		left := database.Query(t, w.state, "SELECT 'run', id, phase, owner, epoch, seq, stop, (SELECT max(id) FROM replicas) FROM runs WHERE phase < 3 UNION ALL SELECT 'slot', n, run, 0, 0, 0, '', 0 FROM slots WHERE run IS NOT NULL")
		return left, len(left) == 0
	})
}

// crash lets the database crash, and starts it again.
func crash(tb testing.TB) {
	tb.Helper()
	if err := errors.Join(database.Crash(), database.Start()); err != nil {
		tb.Error(err)
	}
}

//go:build unix

package cli_test

import (
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// A pooler in transaction mode keeps no session: it is refused, unless the gateway is told where
// its session goes, or that it has none.
func TestAPoolerNeedsASession(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	direct, err := url.Parse(m.database)
	if err != nil {
		t.Fatal(err)
	}
	m.database = m.pg.Pooler(t, direct.Path[1:])
	for _, args := range [][]string{{"state", "check"}, {"serve", "--addr", "127.0.0.1:0"}} {
		out, err := m.command(args...).CombinedOutput()
		for _, want := range []string{"cause: a pooler in transaction mode is in front of the database", "hint:  name the database itself: OHGW_STATE_SESSION="} {
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("output of ohgw %s = %s (%v), want %q", args[0], out, err, want)
			}
		}
	}
	other := m.pg.Database(t)
	m.env = []string{"OHGW_STATE_SESSION=" + other}
	if out, err := m.command("serve", "--addr", "127.0.0.1:0").CombinedOutput(); err == nil || !strings.Contains(string(out), "cause: the session is in another database") {
		t.Errorf("output of ohgw serve with the session in another database = %s (%v)", out, err)
	}
	for i, session := range []string{direct.String(), "off"} {
		m.env = []string{"OHGW_STATE_SESSION=" + session}
		if out, err := m.command("state", "check").CombinedOutput(); err != nil {
			t.Errorf("output of ohgw state check = %s (%v)", out, err)
		}
		g := m.start()
		asked := g.ask(session, "hello")
		<-m.asked
		m.release <- struct{}{}
		m.answered("the gateway behind the pooler", <-asked, "hello")
		if n := int(m.turns.Load()); n != i+1 {
			t.Errorf("the model was asked %d times, want %d", n, i+1)
		}
		if err := g.end(syscall.SIGTERM); err != nil {
			t.Errorf("the gateway ended with: %v\n%s", err, g.log)
		}
	}
}

// A gateway behind a pooler that is killed is known to be dead at once by its session.
func TestADeadGatewayBehindAPoolerIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	direct, err := url.Parse(m.database)
	if err != nil {
		t.Fatal(err)
	}
	m.env = []string{"OHGW_STATE_SESSION=" + m.database}
	m.database = m.pg.Pooler(t, direct.Path[1:])
	a, b := m.start(), m.start()
	broken := a.ask("one", "hello")
	<-m.asked
	_ = a.end(syscall.SIGKILL) // it reports the signal
	if r := <-broken; r.err == nil {
		t.Errorf("the killed gateway answered: %d %s", r.status, r.body)
	}
	again := b.ask("one", "hello")
	m.release <- struct{}{}
	m.answered("the gateway that is left", <-again, "hello")
	if n := m.turns.Load(); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}

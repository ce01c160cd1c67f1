//go:build unix

package cli_test

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestGatewaysThatShareADatabaseAnswerAsOne(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.start(), m.start()

	here := a.ask("one", "hello")
	<-m.asked
	there := b.ask("one", "hello")
	m.release <- struct{}{}
	first, second := <-here, <-there
	m.answered("the gateway that runs it", first, "hello")
	m.answered("the other one", second, "hello")
	if first.id() != second.id() || first.id() == "" {
		t.Errorf("the answers have the ids %q and %q, want one", first.id(), second.id())
	}
	if conflict := <-b.ask("one", "other"); conflict.status != http.StatusUnprocessableEntity && conflict.status != http.StatusConflict {
		t.Errorf("the same key for another message: %d %s", conflict.status, conflict.body)
	}

	broken := a.ask("two", "bye")
	<-m.asked
	_ = a.end(syscall.SIGKILL) // it reports the signal
	if r := <-broken; r.err == nil {
		t.Errorf("the killed gateway answered: %d %s", r.status, r.body)
	}
	again := b.ask("two", "bye")
	m.release <- struct{}{}
	m.answered("the gateway that is left", <-again, "bye")
	if n := m.turns.Load(); n != 2 {
		t.Errorf("the model was asked %d times, want once for each of 2 messages", n)
	}
	if err := b.end(syscall.SIGTERM); err != nil {
		t.Errorf("the gateway ended with: %v\n%s", err, b.log)
	}
}

func TestAGatewayWhoseDatabaseIsAwayStartsNothing(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	g := m.start()
	if status := g.status("/readyz"); status != http.StatusOK {
		t.Errorf("readyz with the database = %d", status)
	}
	running := g.ask("one", "hello")
	<-m.asked
	if err := m.pg.Crash(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "readyz notices that the database is away", func() (any, bool) {
		status := g.status("/readyz")
		return status, status == http.StatusServiceUnavailable
	})
	if r := <-g.ask("two", "hello"); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("a new request = %d %s, error = %v, want 503 with Retry-After", r.status, r.body, r.err)
	}
	m.release <- struct{}{}
	m.answered("the run that went on", <-running, "hello")
	if err := m.pg.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "readyz notices that the database is back", func() (any, bool) {
		status := g.status("/readyz")
		return status, status == http.StatusOK
	})
	again := g.ask("two", "hello")
	m.release <- struct{}{}
	m.answered("the request that was refused", <-again, "hello")
	if n := m.turns.Load(); n != 2 {
		t.Errorf("the model was asked %d times, want once for each of 2 messages", n)
	}
}

func TestAGatewayThatStopsLeavesItsRunsToTheOthers(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a := m.start("--drain", "1ms", "--max-runs", "1")
	b := m.start("--max-runs", "1")
	running := a.ask("one", "hello")
	<-m.asked
	waiting := a.ask("two", "bye")
	m.await("the second request waits", `"waiting": 1`)
	if err := a.end(syscall.SIGTERM); err != nil {
		t.Errorf("the gateway ended with: %v\n%s", err, a.log)
	}
	for what, c := range map[string]<-chan reply{"the run that went on": running, "the request that waited": waiting} {
		if r := <-c; r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") != "0" || r.header.Get("X-Should-Retry") != "true" {
			t.Errorf("the answer of %s = %d %v %s, error = %v, want 503 that says to retry at once", what, r.status, r.header, r.body, r.err)
		}
	}
	first, second := b.ask("one", "hello"), b.ask("two", "bye")
	m.release <- struct{}{}
	m.answered("the run that went on", <-first, "hello")
	<-m.asked
	m.release <- struct{}{}
	m.answered("the request that waited", <-second, "bye")
	if n := m.turns.Load(); n != 2 {
		t.Errorf("the model was asked %d times, want once for each of 2 messages", n)
	}
}

func TestAGatewayThatStopsLetsAnswersEnd(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a := m.start("--drain", "50s")
	running := a.ask("one", "hello")
	<-m.asked
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the gateway refuses new requests", func() (any, bool) {
		status := a.status("/readyz")
		return status, status == http.StatusServiceUnavailable
	})
	m.release <- struct{}{}
	m.answered("the run that went on", <-running, "hello")
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("the gateway ended with: %v\n%s", err, a.log)
	}
}

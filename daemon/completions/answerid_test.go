package completions_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// One answer has one id and one time of birth, however often and in whatever
// form it is delivered: who counts completions counts it once.
func TestAnAnswerHasOneIDAtEachDelivery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Delta("so far"), daemontest.Wait(5*time.Second), daemontest.Finish("done"))
		state := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = dir, time.Hour }
		g := apitest.Serve(t, b, state)
		named := []string{"Idempotency-Key", "k"}
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), named...))
		time.Sleep(time.Second)
		joined := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed), named...)) // while it runs
		first := apitest.Parse(t, g.Finish(res))
		id, created := first.Chunks[0].ID, first.Chunks[0].Created
		same := func(when, gotID string, gotCreated int64) {
			t.Helper()
			if gotID != id || gotCreated != created || !idForm.MatchString(id) {
				t.Errorf("%s: %s made at %d, want %s made at %d", when, gotID, gotCreated, id, created)
			}
		}
		for _, c := range append(first.Chunks, joined.Chunks...) {
			same("streamed", c.ID, c.Created)
		}
		time.Sleep(3 * time.Second)
		again := apitest.Completed(t, g.Chat(apitest.Ask("go"), named...))
		same("from memory", again.ID, again.Created)
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := g.Daemon.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		g = apitest.Serve(t, b, state)
		again = apitest.Completed(t, g.Chat(apitest.Ask("go"), named...))
		same("from the record", again.ID, again.Created)
		if other := apitest.Completed(t, g.Chat(apitest.Ask("go"))); other.ID == id || other.Created == created {
			t.Errorf("another run has the same id or time: %s, %d", other.ID, other.Created)
		}
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

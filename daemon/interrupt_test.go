package daemon_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestAnInterruptEndsTheAnswerAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Say("So far."), daemontest.Hang()))
		began := time.Now()
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
		synctest.Wait()
		stop := g.do(http.MethodPost, "/v1/conversations/"+res.Header.Get("X-OpenHands-ServerConversation-ID")+"/interrupt", "")
		equal(t, "the status", stop.status, http.StatusOK)
		contains(t, "the body", stop.body, `"interrupted":true`)
		f := parse(t, g.finish(res))
		last := f.chunks[len(f.chunks)-1]
		equal(t, "the last frame", f.end, "[DONE]")
		begins(t, "the text", f.text(), "So far.\n\n")
		equal(t, `last.Extension["run_status"]`, last.Extension["run_status"], "cancelled")
		if n := g.backend.Interrupts(); n != 1 || time.Since(began) > time.Second {
			t.Errorf("%d interrupts, after %s", n, time.Since(began))
		}
	})
}

func TestAnInterruptOfNothingIsNoFailure(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("done")))
	const path = "/v1/conversations/" + conversation + "/interrupt"
	envelope(t, g.do(http.MethodPost, path, ""), http.StatusNotFound, "conversation_not_found", "id")
	completed(t, g.as(key, "openhands_default", "hi", conversation))
	res := g.do(http.MethodPost, path, "")
	equal(t, "the status", res.status, http.StatusOK)
	contains(t, "the body", res.body, `"interrupted":false`)
	envelope(t, g.do(http.MethodPost, "/v1/conversations/x/interrupt", ""), http.StatusBadRequest, "invalid_conversation_id", "id")
	envelope(t, g.do(http.MethodPost, "/v1/conversations/x/interrupt", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
}

package conversations_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestAnInterruptEndsTheAnswerAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Hang()))
		began := time.Now()
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
		synctest.Wait()
		stop := g.Do(http.MethodPost, "/v1/conversations/"+res.Header.Get("X-OpenHands-ServerConversation-ID")+"/interrupt", "")
		apitest.Equal(t, "the status", stop.Status, http.StatusOK)
		apitest.Contains(t, "the body", stop.Body, `"interrupted":true`)
		f := apitest.Parse(t, g.Finish(res))
		last := f.Chunks[len(f.Chunks)-1]
		apitest.Equal(t, "the last frame", f.End, "[DONE]")
		apitest.Begins(t, "the text", f.Text(), "So far.\n\n")
		apitest.Equal(t, `last.Extension["run_status"]`, last.Extension["run_status"], "cancelled")
		if n := g.Backend.Interrupts(); n != 1 || time.Since(began) > time.Second {
			t.Errorf("%d interrupts, after %s", n, time.Since(began))
		}
	})
}

func TestAnInterruptOfNothingIsNoFailure(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	const path = "/v1/conversations/" + apitest.Conversation + "/interrupt"
	apitest.Envelope(t, g.Do(http.MethodPost, path, ""), http.StatusNotFound, "conversation_not_found", "id")
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "hi", apitest.Conversation))
	res := g.Do(http.MethodPost, path, "")
	apitest.Equal(t, "the status", res.Status, http.StatusOK)
	apitest.Contains(t, "the body", res.Body, `"interrupted":false`)
	apitest.Envelope(t, g.Do(http.MethodPost, "/v1/conversations/x/interrupt", ""), http.StatusBadRequest, "invalid_conversation_id", "id")
	apitest.Envelope(t, g.Do(http.MethodPost, "/v1/conversations/x/interrupt", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
}

package completions_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// A message that a hook refuses has an answer with the reason, and a status of its
// own, on every route.
func TestAMessageThatAHookRefusesIsAnsweredWithTheReason(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"word-not-allowed", "ask the legal department first\nor leave it"} {
		b := daemontest.New("default")
		b.Refuse = why
		g := apitest.Serve(t, b)
		reason := strings.SplitN(why, "\n", 2)[0]

		res := g.Chat(apitest.Ask("hi"))
		apitest.Equal(t, "X-OpenHands-Run-Status", res.Header.Get("X-OpenHands-Run-Status"), "refused")
		if text := apitest.Completed(t, res).Text(); !strings.HasPrefix(text, "A hook refused the message: "+reason) {
			t.Errorf("answer %q", text)
		}
		res = g.Chat(apitest.Ask("hi again", apitest.Streamed))
		if text := apitest.Parse(t, res).Text(); !strings.Contains(text, reason) || !strings.Contains(res.Body, `"run_status":"refused"`) {
			t.Errorf("stream %q", res.Body)
		}
		made := apitest.Responded(t, g.Respond(apitest.Input("hi once more")))
		if !strings.Contains(made.Text(), reason) {
			t.Errorf("response %q", made.Text())
		}
		schema := `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`
		res = g.Chat(apitest.Ask("hi in a form", schema))
		if res.Status != http.StatusOK || !strings.Contains(res.Body, `"refusal":"A hook refused the message: `+reason) {
			t.Errorf("in a form: %d %s", res.Status, res.Body)
		}
	}
}

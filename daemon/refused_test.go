package daemon_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/daemontest"
)

// A message that a hook refuses has an answer with the reason, and a status of its
// own, on every route.
func TestAMessageThatAHookRefusesIsAnsweredWithTheReason(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"word-not-allowed", "ask the legal department first\nor leave it"} {
		b := daemontest.New("default")
		b.Refuse = why
		g := serve(t, b)
		reason := strings.SplitN(why, "\n", 2)[0]

		res := g.chat(ask("hi"))
		equal(t, "X-OpenHands-Run-Status", res.header.Get("X-OpenHands-Run-Status"), "refused")
		if text := completed(t, res).text(); !strings.HasPrefix(text, "A hook refused the message: "+reason) {
			t.Errorf("answer %q", text)
		}
		res = g.chat(ask("hi again", streamed))
		if text := parse(t, res).text(); !strings.Contains(text, reason) || !strings.Contains(res.body, `"run_status":"refused"`) {
			t.Errorf("stream %q", res.body)
		}
		made := responded(t, g.respond(input("hi once more")))
		if !strings.Contains(made.text(), reason) {
			t.Errorf("response %q", made.text())
		}
		schema := `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`
		res = g.chat(ask("hi in a form", schema))
		if res.status != http.StatusOK || !strings.Contains(res.body, `"refusal":"A hook refused the message: `+reason) {
			t.Errorf("in a form: %d %s", res.status, res.body)
		}
	}
}

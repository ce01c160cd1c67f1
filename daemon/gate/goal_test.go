package gate_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
)

// TestAGoalIsRefusedWhereItCannotBePursued has headers that cannot be read, and a backend
// without goals.
func TestAGoalIsRefusedWhereItCannotBePursued(t *testing.T) {
	t.Parallel()
	const goal, rounds = "X-OpenHands-Goal", "X-OpenHands-Goal-Rounds"
	for name, c := range map[string]struct {
		header      []string
		code, param string
	}{
		"no goals here":     {[]string{goal, "all tests pass"}, "unsupported_parameter", goal},
		"encoded":           {[]string{goal, "UTF-8''alle%20gr%C3%BCn"}, "unsupported_parameter", goal},
		"wrongly encoded":   {[]string{goal, "UTF-8''alle%zz"}, "invalid_value", goal},
		"encoded, not text": {[]string{goal, "UTF-8''%ff"}, "invalid_value", goal},
		"encoded, empty":    {[]string{goal, "UTF-8''%20"}, "invalid_value", goal},
		"not text":          {[]string{goal, "gr\xfcn"}, "invalid_value", goal},
		"too long":          {[]string{goal, strings.Repeat("x", 4097)}, "invalid_value", goal},
		"two of them":       {[]string{goal, "one", goal, "two"}, "invalid_value", goal},
		"rounds alone":      {[]string{rounds, "3"}, "invalid_value", goal},
		"no rounds":         {[]string{goal, "all", rounds, "0"}, "invalid_value", rounds},
		"too many rounds":   {[]string{goal, "all", rounds, "101"}, "invalid_value", rounds},
		"not a number":      {[]string{goal, "all", rounds, "3.5"}, "invalid_value", rounds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Echoing(t)
			r := g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go"))
			for i := 0; i < len(c.header); i += 2 {
				r.Header.Add(c.header[i], c.header[i+1])
			}
			apitest.Envelope(t, g.Finish(g.Send(r)), http.StatusBadRequest, c.code, c.param)
			apitest.Equal(t, "the runs", g.Backend.Runs(), 0)
		})
	}
}

package gate_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

func TestARequestSetsTheConfirmationMode(t *testing.T) {
	t.Parallel()
	atLeastRisky := func(c *daemon.Config) { c.Confirm = agentapi.ConfirmRisky }
	free := apitest.MayChoose(workdir.Any)
	pages := func(c *daemon.Config) { c.AllowOrigins = []string{"https://ui.example"} }
	for name, tt := range map[string]struct {
		change []func(*daemon.Config)
		modes  []string // of one request after the other
		extra  []string // headers of the last one
		want   agentapi.Confirmation
		code   string // of the last one; "": it is taken
	}{
		"raised":                   {modes: []string{"risky", "Always"}, want: agentapi.ConfirmAlways},
		"kept without the header":  {modes: []string{"always", ""}, want: agentapi.ConfirmAlways},
		"the same again":           {modes: []string{"always", "always"}, want: agentapi.ConfirmAlways},
		"lowered by most keys":     {modes: []string{"always", "never"}, want: agentapi.ConfirmAlways, code: "forbidden_confirmation"},
		"lowered to --confirm":     {change: []func(*daemon.Config){atLeastRisky}, modes: []string{"always", "risky"}, want: agentapi.ConfirmRisky},
		"lowered below --confirm":  {change: []func(*daemon.Config){atLeastRisky}, modes: []string{"always", "never"}, want: agentapi.ConfirmAlways, code: "forbidden_confirmation"},
		"lowered by a trusted key": {change: []func(*daemon.Config){atLeastRisky, free}, modes: []string{"always", "never"}, want: agentapi.ConfirmNever},
		"lowered by a web page":    {change: []func(*daemon.Config){free, pages}, modes: []string{"always", "never"}, extra: []string{"Origin", "https://ui.example"}, want: agentapi.ConfirmAlways, code: "forbidden_confirmation"},
		"raised by a web page":     {change: []func(*daemon.Config){pages}, modes: []string{"risky", "always"}, extra: []string{"Origin", "https://ui.example"}, want: agentapi.ConfirmAlways},
		"not a mode":               {modes: []string{"risky", "sometimes"}, want: agentapi.ConfirmRisky, code: "invalid_value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, id := apitest.Script(daemontest.Finish("ok")), uuid.New()
			g := apitest.Serve(t, b, tt.change...)
			var res apitest.Response
			for i, mode := range tt.modes {
				headers := []string{"X-OpenHands-ServerConversation-ID", id, apitest.HeaderConfirmation, mode}
				if i == len(tt.modes)-1 {
					headers = append(headers, tt.extra...)
				} else if res = g.Chat(apitest.Ask("hi"), headers...); res.Status != http.StatusOK {
					t.Fatalf("%s: status %d: %s", mode, res.Status, res.Body)
				}
				if i == len(tt.modes)-1 {
					res = g.Chat(apitest.Ask("and now"), headers...)
				}
			}
			switch tt.code {
			case "":
				if res.Status != http.StatusOK {
					t.Errorf("status %d: %s", res.Status, res.Body)
				}
			case "invalid_value":
				apitest.Envelope(t, res, http.StatusBadRequest, tt.code, apitest.HeaderConfirmation)
			default:
				apitest.Envelope(t, res, http.StatusForbidden, tt.code, apitest.HeaderConfirmation)
			}
			if got := b.Confirmation(id); got != tt.want {
				t.Errorf("the mode is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestABackendWithoutConfirmationModesSaysSo(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("ok"))
	b.NoConfirm = true
	res := apitest.Serve(t, b).Chat(apitest.Ask("hi"), "X-OpenHands-ServerConversation-ID", uuid.New(), apitest.HeaderConfirmation, "always")
	apitest.Envelope(t, res, http.StatusBadRequest, "unsupported_parameter", apitest.HeaderConfirmation)
	if b.Runs() != 0 {
		t.Error("it ran without the confirmation that was asked for")
	}
}

package daemon_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

const headerConfirmation = "X-OpenHands-Confirmation"

func TestARequestSetsTheConfirmationMode(t *testing.T) {
	t.Parallel()
	atLeastRisky := func(c *daemon.Config) { c.Confirm = agentapi.ConfirmRisky }
	free := mayChoose(workdir.Any)
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
			b, id := script(daemontest.Finish("ok")), uuid.New()
			g := serve(t, b, tt.change...)
			var res response
			for i, mode := range tt.modes {
				headers := []string{"X-OpenHands-ServerConversation-ID", id, headerConfirmation, mode}
				if i == len(tt.modes)-1 {
					headers = append(headers, tt.extra...)
				} else if res = g.chat(ask("hi"), headers...); res.status != http.StatusOK {
					t.Fatalf("%s: status %d: %s", mode, res.status, res.body)
				}
				if i == len(tt.modes)-1 {
					res = g.chat(ask("and now"), headers...)
				}
			}
			switch tt.code {
			case "":
				if res.status != http.StatusOK {
					t.Errorf("status %d: %s", res.status, res.body)
				}
			case "invalid_value":
				envelope(t, res, http.StatusBadRequest, tt.code, headerConfirmation)
			default:
				envelope(t, res, http.StatusForbidden, tt.code, headerConfirmation)
			}
			if got := b.Confirmation(id); got != tt.want {
				t.Errorf("the mode is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestABackendWithoutConfirmationModesSaysSo(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("ok"))
	b.NoConfirm = true
	res := serve(t, b).chat(ask("hi"), "X-OpenHands-ServerConversation-ID", uuid.New(), headerConfirmation, "always")
	envelope(t, res, http.StatusBadRequest, "unsupported_parameter", headerConfirmation)
	if b.Runs() != 0 {
		t.Error("it ran without the confirmation that was asked for")
	}
}

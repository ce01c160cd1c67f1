package daemon

import (
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// confirmFloor is the lowest confirmation mode that a client may give to a
// conversation that has a higher one; empty: none. For most clients that is the
// mode of ohgw serve --confirm, if it was given; those that may choose
// directories may choose every mode.
func (d *Daemon) confirmFloor(r *http.Request, client Client) agentapi.Confirmation {
	if client.chooses() && !fromPage(r) {
		return agentapi.ConfirmNever
	}
	return d.cfg.Confirm
}

// ConfirmationHealth is what a client may choose with X-OpenHands-Confirmation.
type ConfirmationHealth struct {
	// Mode is the one of new conversations; empty: OpenHands' settings say.
	Mode agentapi.Confirmation `json:"mode"`
	// Lower says that the client may choose a lower one.
	Lower bool `json:"lower"`
}

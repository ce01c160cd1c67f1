package daemon

import (
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// confirmFloor is the lowest confirmation mode that a client may give to a
// conversation that has a higher one; empty: none. For most clients that is the
// mode of ohgw serve --confirm, if it was given; those that may choose
// directories may choose every mode. Below the client's own floor it never is.
func (d *Daemon) confirmFloor(r *http.Request, client Client) agentapi.Confirmation {
	floor := d.cfg.Confirm
	if client.chooses() && !fromPage(r) {
		floor = agentapi.ConfirmNever
	}
	if floor == "" {
		return ""
	}
	return floor.Stricter(client.Confirm)
}

// checkConfirmation refuses a mode below the floor of the client's token, before
// anything is done for the request.
func (c Client) checkConfirmation(o options) error {
	mode := agentapi.Confirmation(o.confirmation)
	if mode == "" || mode.Stricter(c.Confirm) == mode {
		return nil
	}
	return newProblem(codeForbiddenConfirm, "This API key was created with --confirm "+string(c.Confirm)+", which no request can lower; send that mode or a higher one, or none.", nil).about(headerConfirmation)
}

// ConfirmationHealth is what a client may choose with X-OpenHands-Confirmation.
type ConfirmationHealth struct {
	// Mode is the one of new conversations, which is at least that of the client's
	// token; empty: OpenHands' settings say.
	Mode agentapi.Confirmation `json:"mode"`
	// Lower says that the client may choose a lower one.
	Lower bool `json:"lower"`
}

// confirmationHealth is what a client may choose.
func (d *Daemon) confirmationHealth(client Client) *ConfirmationHealth {
	mode := d.cfg.Confirm.Stricter(client.Confirm)
	return &ConfirmationHealth{Mode: mode, Lower: client.chooses() && (client.Confirm == "" || client.Confirm.Below(mode))}
}

package gate

import (
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// ConfirmFloor is the lowest confirmation mode that a client may give to a
// conversation that has a higher one; empty: none. For most clients that is the
// mode of ohgw serve --confirm, if it was given; those that may choose
// directories may choose every mode. Below the client's own floor it never is.
func (core *Core) ConfirmFloor(r *http.Request, client Client) agentapi.Confirmation {
	floor := core.Confirm
	if client.Chooses() && !FromPage(r) {
		floor = agentapi.ConfirmNever
	}
	if floor == "" {
		return ""
	}
	return floor.Stricter(client.Confirm)
}

// checkConfirmation refuses a mode below the floor of the client's token, before
// anything is done for the request.
func (c Client) checkConfirmation(o Options) error {
	mode := agentapi.Confirmation(o.Confirmation)
	if mode == "" || mode.Stricter(c.Confirm) == mode {
		return nil
	}
	return NewProblem(CodeForbiddenConfirm, "This API key was created with --confirm "+string(c.Confirm)+", which no request can lower; send that mode or a higher one, or none.", nil).About(HeaderConfirmation)
}

// ConfirmationHealth is what a client may choose with X-OpenHands-Confirmation.
type ConfirmationHealth struct {
	// Mode is the one of new conversations, which is at least that of the client's
	// token; empty: OpenHands' settings say.
	Mode agentapi.Confirmation `json:"mode"`
	// Lower says that the client may choose a lower one.
	Lower bool `json:"lower"`
}

// ConfirmationHealth is what a client may choose.
func (core *Core) ConfirmationHealth(client Client) *ConfirmationHealth {
	mode := core.Confirm.Stricter(client.Confirm)
	return &ConfirmationHealth{Mode: mode, Lower: client.Chooses() && (client.Confirm == "" || client.Confirm.Below(mode))}
}

package conversations

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// CondenseConversation answers POST /v1/conversations/{id}/condense. It takes a
// call of the model, which the budget of the token pays for. It is given up when the client
// leaves.
func (api *API) CondenseConversation() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		purse, err := api.core.PurseOf(x.Client)
		if err != nil {
			return err
		}
		done, err := api.core.Runs.Condense(r.Context(), access, id, purse.BudgetOf(gate.Options{}))
		if errors.Is(err, agentapi.ErrUnsupported) {
			return gate.NewProblem(gate.CodeNoCondenser, agentapi.PublicMessage(err, "The agent of this conversation cannot summarize it."), err)
		}
		if err != nil {
			return err
		}
		x.Note(slog.Bool("condensed", done.Done))
		return x.Encode(openai.NewCondensedConversation(id, done.Done, done.Before, done.After))
	})
}

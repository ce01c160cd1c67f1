package daemon

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// condenseConversation answers POST /v1/conversations/{id}/condense. It takes a
// call of the model, and is given up when the client leaves.
func (d *Daemon) condenseConversation() handler {
	return d.conversation(func(x *exchange, r *http.Request, access run.Access, id string) error {
		done, err := d.runs.Condense(r.Context(), access, id)
		if errors.Is(err, agentapi.ErrUnsupported) {
			return newProblem(codeNoCondenser, agentapi.PublicMessage(err, "The agent of this conversation cannot summarize it."), err)
		}
		if err != nil {
			return err
		}
		x.note(slog.Bool("condensed", done.Done))
		return x.encode(openai.NewCondensedConversation(id, done.Done, done.Before, done.After))
	})
}

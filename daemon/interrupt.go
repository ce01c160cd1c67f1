package daemon

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/uuid"
)

// interrupt answers POST /v1/conversations/{id}/interrupt. Who hangs up may
// have lost the connection, so its run goes on for a grace; who means to stop
// says so here, and nothing more is done in its name. It reaches only what the
// same token has started, or for an operator what any token has, of that only the
// request with the Idempotency-Key if there is one, and does no harm where nothing runs. A run that a killed ohgw has
// left at its agent-server is one of the token's, too.
func (d *Daemon) interrupt() handler {
	return func(x *exchange, r *http.Request) error {
		id, err := uuid.Parse(openai.TrimConversationID(r.PathValue("id")))
		if err != nil {
			return newProblem(codeConversationID, "The conversation must be a UUID.", nil).about("id")
		}
		key, err := idempotencyKey(r.Header)
		if err != nil {
			return err
		}
		n := d.runs.Stop(x.client.reach(), id, key)
		if n == 0 && key == "" {
			stopped, err := d.runs.StopUnattended(r.Context(), x.client.reach(), id)
			if err != nil {
				return err
			}
			if stopped {
				n = 1
			}
		}
		x.note(slog.String("conversation_id", id), slog.Int("interrupted", n))
		return x.writeJSON(http.StatusOK, fmt.Appendf(nil, `{"id":%q,"object":"conversation.interrupt","interrupted":%t}`+"\n", id, n > 0))
	}
}

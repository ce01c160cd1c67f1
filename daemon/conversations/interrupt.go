package conversations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
)

// Interrupt answers POST /v1/conversations/{id}/interrupt. Who hangs up may
// have lost the connection, so its run goes on for a grace; who means to stop
// says so here, and nothing more is done in its name. It reaches only what the
// same token has started, or for an operator what any token has, of that only the
// request with the Idempotency-Key if there is one, and does no harm where nothing
// runs. A run that a killed ohgw has left at its agent-server is one of the
// token's, too.
func (api *API) Interrupt() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		id, err := pathConversation(r)
		if err != nil {
			return err
		}
		key, err := gate.IdempotencyKey(r.Header)
		if err != nil {
			return err
		}
		n, err := api.stop(r.Context(), x.Client, id, key)
		if err != nil {
			return err
		}
		x.Note(slog.String("conversation_id", id), slog.Int("interrupted", n))
		return x.WriteJSON(http.StatusOK, fmt.Appendf(nil, `{"id":%q,"object":"conversation.interrupt","interrupted":%t}`+"\n", id, n > 0))
	}
}

// stop stops what the client reaches in a conversation, and reports how many turns
// it stopped. Where there was none, a conversation that is not open to the client is
// one that it does not have; who stops the turns of all tokens is not told apart.
func (api *API) stop(ctx context.Context, client gate.Client, id, key string) (n int, err error) {
	if n = api.core.Runs.Stop(client.Reach(), id, key); n > 0 {
		return n, nil
	}
	if key == "" {
		stopped, err := api.core.Runs.StopUnattended(ctx, client.Reach(), id)
		if err != nil || stopped {
			return 1, err
		}
	}
	if client.Reach() == "" {
		return 0, nil
	}
	_, err = api.known(ctx, client.Access(), id)
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return 0, noConversation(err)
	}
	return 0, nil // it is not known, and nothing runs
}

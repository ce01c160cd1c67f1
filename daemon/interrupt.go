package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
)

// interrupt answers POST /v1/conversations/{id}/interrupt. Who hangs up may
// have lost the connection, so its run goes on for a grace; who means to stop
// says so here, and nothing more is done in its name. It reaches only what the
// same token has started, or for an operator what any token has, of that only the
// request with the Idempotency-Key if there is one, and does no harm where nothing
// runs. A run that a killed ohgw has left at its agent-server is one of the
// token's, too.
func (d *Daemon) interrupt() handler {
	return func(x *exchange, r *http.Request) error {
		id, err := pathConversation(r)
		if err != nil {
			return err
		}
		key, err := idempotencyKey(r.Header)
		if err != nil {
			return err
		}
		n, err := d.stop(r.Context(), x.client, id, key)
		if err != nil {
			return err
		}
		x.note(slog.String("conversation_id", id), slog.Int("interrupted", n))
		return x.writeJSON(http.StatusOK, fmt.Appendf(nil, `{"id":%q,"object":"conversation.interrupt","interrupted":%t}`+"\n", id, n > 0))
	}
}

// stop stops what the client reaches in a conversation, and reports how many turns
// it stopped. Where there was none, a conversation that is not open to the client is
// one that it does not have; who stops the turns of all tokens is not told apart.
func (d *Daemon) stop(ctx context.Context, client Client, id, key string) (n int, err error) {
	if n = d.runs.Stop(client.reach(), id, key); n > 0 {
		return n, nil
	}
	if key == "" {
		stopped, err := d.runs.StopUnattended(ctx, client.reach(), id)
		if err != nil || stopped {
			return 1, err
		}
	}
	if client.reach() == "" {
		return 0, nil
	}
	_, err = d.known(ctx, client.access(), id)
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return 0, noConversation(err)
	}
	return 0, nil // it is not known, and nothing runs
}

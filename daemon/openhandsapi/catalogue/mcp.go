package catalogue

import (
	"context"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// try starts or reaches an MCP server that a user is about to add. That the server
// cannot be used is an answer, too: the status is 200 in both cases.
func (s *server) try(w http.ResponseWriter, r *http.Request) error {
	trial, err := ReadTrial(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), trial.Timeout)
	defer cancel()
	tried, err := s.TryServer(ctx, trial)
	if err != nil {
		kind := "connection"
		if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			kind = "timeout"
		}
		wire.WriteJSON(w, http.StatusOK, map[string]any{"ok": false, "error": err.Error(), "error_kind": kind})
		return nil
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"ok": true, "tools": tried.Names(), "tool_result": tried.Result, "resolved_mcp_servers": nil, "oauth_state": tried.Login,
	})
	return nil
}

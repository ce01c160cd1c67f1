package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

// trialTime is how long a trial may take, and maxTrialTime what may be asked for.
const (
	trialTime    = 15 * time.Second
	maxTrialTime = 120 * time.Second
)

// ReadTrial reads what is to be tried.
func ReadTrial(r *http.Request) (Trial, error) {
	body := struct {
		Name    string          `json:"name"`
		Server  json.RawMessage `json:"server"`
		Timeout float64         `json:"timeout"` // seconds
		Call    *Call           `json:"tool_call"`
	}{Name: "test-server", Timeout: trialTime.Seconds()}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return Trial{}, err
	}
	if err := checkServer(body.Server); err != nil {
		return Trial{}, err
	}
	if body.Timeout <= 0 || body.Timeout > maxTrialTime.Seconds() {
		return Trial{}, wire.Unprocessable(wire.Invalid{Type: "less_than_equal", Loc: []any{"body", "timeout"}, Msg: "Input should be greater than 0 and less than or equal to 120", Input: body.Timeout})
	}
	if body.Name = strings.TrimSpace(body.Name); body.Name == "" {
		body.Name = "test-server"
	}
	return Trial{Name: body.Name, Server: body.Server, Call: body.Call, Timeout: time.Duration(body.Timeout * float64(time.Second))}, nil
}

// try starts or reaches an MCP server that somebody is about to add. That it cannot be
// used is an answer, too: the status is 200 in both cases.
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

// checkServer refuses what is no server at all.
func checkServer(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return wire.Unprocessable(wire.Invalid{Type: "missing", Loc: []any{"body", "server"}, Msg: "Field required"})
	}
	var server struct {
		Command string `json:"command"`
		URL     string `json:"url"`
	}
	if err := wire.Decode(raw, &server, "body", "server"); err != nil {
		return err
	}
	if server.Command == "" && server.URL == "" {
		return wire.Unprocessable(wire.Invalid{Type: "missing", Loc: []any{"body", "server", "http", "url"}, Msg: "Field required"})
	}
	return nil
}

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

// Why a request may not widen a sandbox.
const (
	noGrantPage  = "A web page may not change what a sandbox allows; use ohgw sandbox allow."
	noGrantFloor = "This API key was created with --confirm, so it may not change what a sandbox allows; use ohgw sandbox allow, or another key."
	noGrantKey   = "This API key may not change what a sandbox allows; use ohgw sandbox allow, the token \"default\", or a key created with ohgw tokens create NAME --workspace DIR."
)

// Grant answers POST /v1/conversations/{id}/sandbox/grants: what the user says to
// something that the sandbox refused, or holds.
func (api *API) Grant() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		body, err := x.ReadBody(r)
		if err != nil {
			return err
		}
		g, err := openai.ParseGrant(body)
		if err != nil {
			return err
		}
		// First whether the client has the conversation, so that every other answer
		// is about one of its own.
		if _, err := api.core.Runs.About(r.Context(), access, id); err != nil {
			return err
		}
		if err := mayGrant(r, x.Client); err != nil {
			return err
		}
		err = api.core.Runs.Allow(r.Context(), access, id, agentapi.Grant{Access: g.Access, Target: g.Target, Scope: agentapi.GrantScope(g.Scope)})
		switch {
		case errors.Is(err, agentapi.ErrUnsupported):
			return gate.NewProblem(gate.CodeNoGrants, agentapi.PublicMessage(err, "The agent of this conversation does not run in a sandbox of ohgw."), err)
		case errors.Is(err, agentapi.ErrRefused):
			return gate.NewProblem(openai.CodeInvalidValue, agentapi.PublicMessage(err, "The sandbox does not take this grant."), err).About("target")
		case err != nil:
			return err
		}
		x.Note(slog.String("grant", g.Access+" "+g.Scope))
		return x.Encode(openai.NewStoredGrant(id, g))
	})
}

// mayGrant refuses a client that may not widen a sandbox: it has to be one that may
// let agents work in directories of the user's, with every confirmation mode.
func mayGrant(r *http.Request, client gate.Client) error {
	switch {
	case gate.FromPage(r):
		return gate.NewProblem(gate.CodeForbiddenGrant, noGrantPage, nil)
	case client.Confirm != "":
		return gate.NewProblem(gate.CodeForbiddenGrant, noGrantFloor, nil)
	case !client.Chooses():
		return gate.NewProblem(gate.CodeForbiddenGrant, noGrantKey, nil)
	}
	return nil
}

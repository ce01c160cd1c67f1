package completions

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/housekeeping"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// lookupTimeout bounds the question for the addresses of an image's host.
const lookupTimeout = 5 * time.Second

// Chat answers POST /v1/chat/completions.
func (api *API) Chat() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		c, err := api.readCall(x, r)
		if err != nil {
			return err
		}
		s, err := api.Receive(x, r, c)
		if s == nil {
			return err
		}
		defer s.Close()
		w := api.AnswerOf(x, s)
		if c.Stream {
			return w.stream(r.Context())
		}
		return w.whole(r.Context())
	}
}

// Receive takes a call up to the run that answers it. There is none for a call
// that failed, or that was answered without an agent. Whoever gets one has to
// close it.
func (api *API) Receive(x *gate.Exchange, r *http.Request, c *Call) (*Started, error) {
	c, err := c.paid(x)
	if err != nil {
		return nil, err
	}
	m, err := api.modelOf(r.Context(), x.Client, c)
	if err != nil {
		return nil, err
	}
	task, behind := taskOf(c, r.Header, m.utility)
	switch {
	case behind && (m.utility || api.Housekeeping != HousekeepingAgent):
		return nil, api.housekeep(r.Context(), x, c, m.profile, task)
	case !behind && !c.Alone: // which is not part of the chat
		c = api.inChat(x.Client, c, r.Header)
	}
	s, err := api.submit(x, r, c, m)
	if errors.Is(err, run.ErrGone) {
		return nil, err
	}
	if errors.Is(err, errDirect) {
		return nil, api.housekeep(r.Context(), x, c, m.profile, housekeeping.Other)
	}
	if m.old {
		api.models.used(r.Context(), m.profile.Name, err == nil && !s.Replayed())
	}
	if err != nil {
		problem := c.explain(err)
		api.models.doubt(r.Context(), problem)
		return nil, problem
	}
	s.call.Forget()
	x.Header().Set(gate.HeaderSandbox, api.core.SandboxStatus(r.Context()).Level)
	return s, nil
}

// AnswerOf is the answer to a call, before anything of it is sent.
func (api *API) AnswerOf(x *gate.Exchange, s *Started) *Answer {
	x.Attached(s.Attachment, s.call.Options.Key != "")
	if names := api.ignored(s.call, s.Attachment); len(names) > 0 {
		x.Header().Set(gate.HeaderIgnored, strings.Join(names, ", "))
	}
	w := newAnswer(api, x, s)
	w.note = api.imageNote(s.call, s.at.profile)
	return w
}

// readCall decodes and checks the request.
func (api *API) readCall(x *gate.Exchange, r *http.Request) (*Call, error) {
	options, body, err := x.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	parsed, err := openai.ParseChat(body, api.core.OpenAILimits())
	if err != nil {
		return nil, err
	}
	x.Note(slog.String("model", gate.LogPath(parsed.Model)), slog.Bool("stream", parsed.Stream))
	if err := api.CheckHosts(r.Context(), parsed.Images); err != nil {
		return nil, err
	}
	schema, err := SchemaOf(parsed.Format)
	if err != nil {
		return nil, err
	}
	return &Call{ChatRequest: parsed, Route: chatRoute{api}, Options: options, Schema: schema}, nil
}

// CheckHosts refuses images whose host is a name for a private address. The
// model's provider fetches them, or the agent-server does in its place.
func (api *API) CheckHosts(ctx context.Context, images []string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, image := range images {
		u, err := url.Parse(image)
		if err != nil || u.Host == "" { // a data URL
			continue
		}
		addrs, err := api.Lookup(ctx, u.Hostname())
		if err != nil || len(addrs) == 0 {
			return gate.NewProblem(openai.CodeInvalidImageURL, "Invalid image URL: its host name cannot be resolved.", err).About("messages")
		}
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !openai.PublicAddr(a) }) {
			return gate.NewProblem(openai.CodeInvalidImageURL, "Invalid image URL: it points to a private address.", nil).About("messages")
		}
	}
	return nil
}

// explain turns err into the problem that it is to this call: about the header or
// field that the client sent.
func (c *Call) explain(err error) *gate.Problem {
	p := gate.Explain(err)
	if errors.Is(err, agentapi.ErrUnsupported) {
		_, switched := errors.AsType[*run.SwitchError](err)
		switch message := agentapi.PublicMessage(err, "The agent-server does not support this."); {
		case switched: // a mismatch of the model, whatever names the conversation
		case c.Options.Goal != nil && errors.Is(err, agentapi.ErrNoGoals):
			return gate.NewProblem(openai.CodeUnsupportedParameter, message, err).About(gate.HeaderGoal)
		case c.Options.Confirmation != "":
			return gate.NewProblem(openai.CodeUnsupportedParameter, message, err).About(gate.HeaderConfirmation)
		case c.Options.Confirm != "":
			return gate.NewProblem(openai.CodeUnsupportedParameter, message, err).About(gate.HeaderConfirm)
		case c.Options.Conversation == "": // there is no model to switch
			return gate.NewProblem(gate.CodeOf(gate.CodeServerError, err), message, err)
		}
	}
	switch p.Wire.Code {
	case gate.CodeKeyConflict:
		return p.About(gate.HeaderKey)
	case gate.CodeForbiddenConfirm:
		return p.About(gate.HeaderConfirmation)
	case gate.CodeModelNotFound, gate.CodeModelMismatch:
		return p.About("model")
	case gate.CodeNoConversation:
		if c.Previous != "" {
			return PreviousNotFound(c.Previous, err)
		}
		return p.About(gate.HeaderConversation)
	}
	return p
}

// ignored names what of the request has no effect, sorted.
func (api *API) ignored(c *Call, att *run.Attachment) []string {
	names := slices.Clone(c.Ignored)
	for _, name := range att.Ignored() {
		if name == run.IgnoredWorkspace {
			name = gate.HeaderWorkspace
		}
		names = append(names, name)
	}
	if api.IgnoreHistory && len(c.History) > 0 && c.Options.Conversation == "" {
		names = append(names, "history")
	}
	if c.Instructed {
		names = slices.DeleteFunc(names, func(name string) bool { return name == run.IgnoredSystem })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PreviousNotFound has the form of OpenAI's message, which clients look for.
func PreviousNotFound(id string, cause error) *gate.Problem {
	return gate.NewProblem(openai.CodePreviousNotFound, "Previous response with id '"+id+"' not found.", cause).About("previous_response_id")
}

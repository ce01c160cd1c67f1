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
	"github.com/ohgw/ohgw/daemon/conns"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/housekeeping"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
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
		profile, att, err := api.Receive(x, r, c)
		if att == nil {
			return err
		}
		defer c.Leave()
		defer att.Close()
		w := api.AnswerOf(x, c, profile, att)
		if c.Stream {
			return w.stream(r.Context())
		}
		return w.whole(r.Context())
	}
}

// resolveCall is the profile that answers a call, whether the list that it is from
// was old, and whether no agent is wanted. The conversation that the call names
// must be open to its client.
func (api *API) resolveCall(ctx context.Context, client gate.Client, c *Call) (p agentapi.Profile, old, utility bool, err error) {
	if err := api.Runs.MayName(client.Access(), c.InConversation()); err != nil {
		return p, false, false, c.explain(err)
	}
	p, old, err = api.resolve(ctx, client, c.Model)
	if utility = err != nil && c.Model == modelUtility; utility {
		p, err = api.resolveUtility(ctx, client)
	}
	switch {
	case err == nil:
	case c.Model == modelAuto:
		p, err = api.resolveAuto(ctx, client, c)
	case gate.CodeIs(err, gate.CodeModelNotFound) && client.Allows(c.Model) && strings.HasPrefix(c.Model, openai.ModelPrefix+agentapi.AgentPrefix):
		// Its conversations go on without it: see choose.
		p, c.departed, err = agentapi.Profile{Name: strings.TrimPrefix(c.Model, openai.ModelPrefix)}, true, nil
	}
	return p, old, utility, err
}

// Receive takes a call up to the run that answers it. There is none for a call
// that failed, or that was answered without an agent. Whoever gets one has to
// leave the call.
func (api *API) Receive(x *gate.Exchange, r *http.Request, c *Call) (profile *agentapi.Profile, att *run.Attachment, err error) {
	p, old, utility, err := api.resolveCall(r.Context(), x.Client, c)
	if err != nil {
		return nil, nil, err
	}
	task, behind := taskOf(c, r.Header, utility)
	switch {
	case behind && (utility || api.Housekeeping != HousekeepingAgent):
		return nil, nil, api.housekeep(r.Context(), x, c, p, task)
	case !behind && !c.Alone: // which is not part of the chat
		if c.Chat = api.chatOf(x.Client, c, r.Header); c.Chat == nil {
			api.afterCall(x.Client, c)
		}
	}
	defer func() {
		if att == nil {
			c.Leave()
		}
	}()
	found, err := api.submit(r, x.Client, c, p)
	p = c.tellRouted(x.Header(), p)
	if errors.Is(err, run.ErrGone) {
		return nil, nil, err
	}
	if errors.Is(err, errDirect) {
		return nil, nil, api.housekeep(r.Context(), x, c, p, housekeeping.Other)
	}
	if old {
		api.models.used(r.Context(), p.Name, err == nil && !found.Replayed())
	}
	if err != nil {
		problem := c.explain(err)
		api.models.doubt(r.Context(), problem)
		return nil, nil, problem
	}
	x.Header().Set(gate.HeaderSandbox, api.SandboxStatus(r.Context()).Level)
	return &p, found, nil
}

// AnswerOf is the answer to a call, before anything of it is sent.
func (api *API) AnswerOf(x *gate.Exchange, c *Call, profile *agentapi.Profile, att *run.Attachment) *Answer {
	x.Attached(att, c.Options.Key != "")
	if names := api.ignored(c, att); len(names) > 0 {
		x.Header().Set(gate.HeaderIgnored, strings.Join(names, ", "))
	}
	w := newAnswer(api, x, c, att)
	w.note = api.imageNote(c, *profile)
	return w
}

// readCall decodes and checks the request.
func (api *API) readCall(x *gate.Exchange, r *http.Request) (*Call, error) {
	options, body, err := x.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	parsed, err := openai.ParseChat(body, api.OpenAILimits())
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

// submit finds or starts the run that answers the call.
func (api *API) submit(r *http.Request, client gate.Client, c *Call, profile agentapi.Profile) (_ *run.Attachment, err error) {
	ctx := r.Context()
	if c.workspace, err = api.NamedWorkspace(r, client, c.Options); err != nil {
		return nil, err
	}
	req := run.Request{
		Asker: run.Asker{
			Access: client.Access(), Who: client.Name, Fingerprint: c.fingerprint(client),
			IdempotencyKey: c.Options.Key, Retry: c.Options.Retry, Fresh: c.Options.Fresh,
		},
		Place: run.Place{
			ConversationID: c.InConversation(), Existing: c.Existing, Once: c.Once,
			Origin: c.Copied, From: c.Last, Keep: c.Keep && c.IsApart(),
			Workspace: c.workspace, Named: c.workspace != "", ReadOnly: c.Options.ReadOnly,
		},
		Terms: run.Terms{
			Profile: profile.Name, ProfileRevision: profile.Revision, AnyModel: c.Model == modelActive,
			Confirmation: agentapi.Confirmation(c.Options.Confirmation), Floor: api.ConfirmFloor(r, client), Least: client.Confirm,
		},
		Words: run.Words{
			System: c.system(), Message: c.message(), Quoted: api.Quoted(c),
			Compose: c.Compose, Kind: c.Kind, Decision: c.decision(),
		},
		Course: run.Course{
			Timeout: c.Options.Timeout, Detach: c.Options.Detach, Details: c.Options.Details,
			Form: api.FormOf(c.Schema, profile.Name, c.Text), Observer: c.Route.Observer(c, profile.Name), Gone: conns.Gone(r),
		},
	}
	if req.Origin != "" && req.Keep {
		req.ConversationID = uuid.New()
	}
	att, err := api.begin(ctx, c, req)
	if err != nil || !att.Replayed() || att.RepeatsUntil().IsZero() {
		return att, err
	}
	// The same failure is about to be returned again. If the user has repaired
	// the profile meanwhile, our list of profiles may be out of date.
	list, err := api.models.newest(ctx)
	if p, ok := find(list, c.Model); err == nil && ok && p.Revision != req.ProfileRevision {
		att.Forgo()
		req.ProfileRevision = p.Revision
		return api.begin(ctx, c, req)
	}
	return att, nil
}

// explain is the problem that err is to this call.
func (c *Call) explain(err error) *gate.Problem {
	p := gate.Explain(err)
	if errors.Is(err, agentapi.ErrUnsupported) {
		_, switched := errors.AsType[*run.SwitchError](err)
		switch message := agentapi.PublicMessage(err, "The agent-server does not support this."); {
		case switched: // a mismatch of the model, whatever names the conversation
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

// Quoted is what a new conversation is told of what was said before a call.
func (api *API) Quoted(c *Call) string {
	if api.IgnoreHistory {
		return ""
	}
	return openai.Quote(c.History, openai.MaxQuote)
}

// ignored names what of the request has no effect, sorted.
func (api *API) ignored(c *Call, att *run.Attachment) []string {
	names := slices.Concat(c.Ignored, att.Ignored())
	if api.IgnoreHistory && len(c.History) > 0 && c.Options.Conversation == "" {
		names = append(names, "history")
	}
	if c.Instructed {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "system" })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PreviousNotFound has the form of OpenAI's message, which clients look for.
func PreviousNotFound(id string, cause error) *gate.Problem {
	return gate.NewProblem(openai.CodePreviousNotFound, "Previous response with id '"+id+"' not found.", cause).About("previous_response_id")
}

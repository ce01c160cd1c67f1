package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/conns"
	"github.com/ohgw/ohgw/daemon/housekeeping"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/structured"
)

const (
	// The routes, which tell their requests from those of others.
	routeChat      = "chat"
	routeResponses = "responses"
	// maxQuote bounds the earlier turns that are quoted to a new conversation,
	// in bytes.
	maxQuote = 64 << 10
	// lookupTimeout bounds the question for the addresses of an image's host.
	lookupTimeout = 5 * time.Second
	// refusal is the reason sent to the agent for actions that the user refused; the
	// user's message follows.
	refusal = "The user refused."
)

// call is a request that an agent answers, read whole: a chat completion, or a
// response, whose handler says with the fields below what is different.
type call struct {
	*openai.ChatRequest
	route   string
	options options
	chat    *chats.ID    // what the client calls the chat; nil: nothing
	visit   *chats.Visit // to that chat; nil until it is admitted
	asked   string       // the message whose answer is to go on; empty: a new one is asked

	// schema is what the answer has to satisfy; nil: it may be any text.
	schema *structured.Schema

	workspace string // the directory that the client names for a new conversation
	// continues is the conversation that the client names in another way than by
	// its header; empty: none.
	continues string
	// once: what the call continues is a one-shot, and stays one.
	once bool
	// previous is the response that the client names to go on from; empty: none.
	previous string
	// alone: no chat is looked for.
	alone bool
	// instructed: a conversation that goes on gets the system text in the message.
	instructed bool
	agents     []agentapi.Profile // among which modelAuto chooses; nil for other models
	router     *Router            // by which it chooses; nil: by the agents' descriptions
	routerErr  error              // why the meta-profile cannot be used
	routed     *agentapi.Profile  // which one it chose
	// departed says that the model is an agent that is not there: it was removed, or
	// its definition is broken.
	departed bool
	// prepare completes what is asked of the runs. May be nil.
	prepare func(*run.Request)
	// write writes the answer of a plain LLM. Nil: as a chat completion.
	write func(*exchange, Completion) error
}

// chat answers POST /v1/chat/completions.
func (d *Daemon) chat() handler {
	return func(x *exchange, r *http.Request) error {
		c, err := d.readCall(x, r)
		if err != nil {
			return err
		}
		profile, att, err := d.receive(x, r, c)
		if att == nil {
			return err
		}
		defer c.leave()
		defer att.Close()
		w := d.answerOf(x, c, profile, att)
		if c.Stream {
			return w.stream(r.Context())
		}
		return w.whole(r.Context())
	}
}

// resolveCall is the profile that answers a call, whether the list that it is from
// was old, and whether no agent is wanted. The conversation that the call names
// must be open to its client.
func (d *Daemon) resolveCall(ctx context.Context, client Client, c *call) (p agentapi.Profile, old, utility bool, err error) {
	if err := d.runs.MayName(client.access(), cmp.Or(c.options.conversation, c.continues)); err != nil {
		return p, false, false, c.explain(err)
	}
	p, old, err = d.resolve(ctx, client, c.Model)
	if utility = err != nil && c.Model == modelUtility; utility {
		p, err = d.resolveUtility(ctx, client)
	}
	switch {
	case err == nil:
	case c.Model == modelAuto:
		p, err = d.resolveAuto(ctx, client, c)
	case codeIs(err, codeModelNotFound) && client.allows(c.Model) && strings.HasPrefix(c.Model, modelPrefix+agentapi.AgentPrefix):
		// Its conversations go on without it: see choose.
		p, c.departed, err = agentapi.Profile{Name: strings.TrimPrefix(c.Model, modelPrefix)}, true, nil
	}
	return p, old, utility, err
}

// receive takes a call up to the run that answers it. There is none for a call
// that failed, or that was answered without an agent. Whoever gets one has to
// leave the call.
func (d *Daemon) receive(x *exchange, r *http.Request, c *call) (profile *agentapi.Profile, att *run.Attachment, err error) {
	p, old, utility, err := d.resolveCall(r.Context(), x.client, c)
	if err != nil {
		return nil, nil, err
	}
	task, behind := taskOf(c, r.Header, utility)
	switch {
	case behind && (utility || d.cfg.Housekeeping != HousekeepingAgent):
		return nil, nil, d.housekeep(r.Context(), x, c, p, task)
	case !behind && !c.alone: // which is not part of the chat
		if c.chat = d.chatOf(x.client, c, r.Header); c.chat == nil {
			d.afterCall(x.client, c)
		}
	}
	defer func() {
		if att == nil {
			c.leave()
		}
	}()
	found, err := d.submit(r, x.client, c, p)
	p = c.tellRouted(x.Header(), p)
	if errors.Is(err, run.ErrGone) {
		return nil, nil, err
	}
	if errors.Is(err, errDirect) {
		return nil, nil, d.housekeep(r.Context(), x, c, p, housekeeping.Other)
	}
	if old {
		d.models.used(r.Context(), p.Name, err == nil && !found.Replayed())
	}
	if err != nil {
		problem := c.explain(err)
		d.models.doubt(r.Context(), problem)
		return nil, nil, problem
	}
	x.Header().Set(headerSandbox, d.sandboxStatus(r.Context()).Level)
	return &p, found, nil
}

// answerOf is the answer to a call, before anything of it is sent.
func (d *Daemon) answerOf(x *exchange, c *call, profile *agentapi.Profile, att *run.Attachment) *answer {
	x.attached(att, c.options.key != "")
	if names := d.ignored(c, att); len(names) > 0 {
		x.Header().Set(headerIgnored, strings.Join(names, ", "))
	}
	w := newAnswer(x, c, att)
	w.note = d.imageNote(c, *profile)
	return w
}

// readRequest reads what the requests of all routes have: headers and a body.
func (x *exchange) readRequest(r *http.Request) (options, []byte, error) {
	o, err := readOptions(r.Header)
	if err == nil {
		err = x.client.checkConfirmation(o)
	}
	if err != nil {
		return o, nil, err
	}
	if o.conversation != "" {
		x.Header().Set(headerConversation, o.conversation)
	}
	body, err := x.readBody(r)
	return o, body, err
}

// readCall decodes and checks the request.
func (d *Daemon) readCall(x *exchange, r *http.Request) (*call, error) {
	options, body, err := x.readRequest(r)
	if err != nil {
		return nil, err
	}
	parsed, err := openai.ParseChat(body, d.cfg.limits())
	if err != nil {
		return nil, err
	}
	x.note(slog.String("model", logPath(parsed.Model)), slog.Bool("stream", parsed.Stream))
	if err := d.checkHosts(r.Context(), parsed.Images); err != nil {
		return nil, err
	}
	schema, err := schemaOf(parsed.Format)
	if err != nil {
		return nil, err
	}
	return &call{ChatRequest: parsed, route: routeChat, options: options, schema: schema}, nil
}

// checkHosts refuses images whose host is a name for a private address. The
// model's provider fetches them, or the agent-server does in its place.
func (d *Daemon) checkHosts(ctx context.Context, images []string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, image := range images {
		u, err := url.Parse(image)
		if err != nil || u.Host == "" { // a data URL
			continue
		}
		addrs, err := d.cfg.Lookup(ctx, u.Hostname())
		if err != nil || len(addrs) == 0 {
			return newProblem(openai.CodeInvalidImageURL, "Invalid image URL: its host name cannot be resolved.", err).about("messages")
		}
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !openai.PublicAddr(a) }) {
			return newProblem(openai.CodeInvalidImageURL, "Invalid image URL: it points to a private address.", nil).about("messages")
		}
	}
	return nil
}

// submit finds or starts the run that answers the call.
func (d *Daemon) submit(r *http.Request, client Client, c *call, profile agentapi.Profile) (_ *run.Attachment, err error) {
	ctx := r.Context()
	if c.workspace, err = d.namedWorkspace(r, client, c.options); err != nil {
		return nil, err
	}
	req := run.Request{
		Access: client.access(), Who: client.Name, Fingerprint: c.fingerprint(client),
		IdempotencyKey: c.options.key, Retry: c.options.retry, Fresh: c.options.fresh,
		ConversationID: cmp.Or(c.options.conversation, c.continues), Profile: profile.Name, ProfileRevision: profile.Revision,
		AnyModel: c.Model == modelActive,
		System:   c.System, Message: agentapi.Message{Text: c.Text, Images: c.Images},
		Decision: c.decision(), Timeout: c.options.timeout, Detach: c.options.detach, Details: c.options.details,
		Workspace: c.workspace, Named: c.workspace != "", ReadOnly: c.options.readOnly,
		Confirmation: agentapi.Confirmation(c.options.confirmation), Floor: d.confirmFloor(r, client), Least: client.Confirm,
		Gone: conns.Gone(r), Once: c.once,
	}
	if !d.cfg.IgnoreHistory {
		req.Quoted = openai.Quote(c.History, maxQuote)
	}
	if c.prepare != nil {
		c.prepare(&req)
	}
	if c.schema != nil {
		req.Form = (&former{d: d, schema: c.schema, profile: profile.Name, question: c.Text}).form
		req.Message.Text += "\n\n" + c.schema.Instruction()
	}
	att, err := d.begin(ctx, c, req)
	if err != nil || !att.Replayed() || att.RepeatsUntil().IsZero() {
		return att, err
	}
	// A failure is about to be repeated. If somebody has repaired the profile
	// meanwhile, our list of profiles may not know yet.
	list, err := d.models.newest(ctx)
	if p, ok := find(list, c.Model); err == nil && ok && p.Revision != req.ProfileRevision {
		att.Forgo()
		req.ProfileRevision = p.Revision
		return d.begin(ctx, c, req)
	}
	return att, nil
}

// fingerprint identifies calls that ask for the same.
func (c *call) fingerprint(client Client) run.Fingerprint {
	h := sha256.New()
	for _, part := range [...]string{client.ID, c.route, c.options.conversation, c.options.confirm, c.chatKey(), c.options.attempt} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	if c.workspace != "" || c.options.confirmation != "" { // else as it always was: records outlive a release
		h.Write([]byte("\x00" + c.workspace + "\x00" + c.options.confirmation + "\x00"))
	}
	if c.options.readOnly {
		h.Write([]byte("\x00" + accessRead + "\x00"))
	}
	h.Write(c.Digest[:])
	return run.Fingerprint(h.Sum(nil))
}

// decision is the answer to what waits for a confirmation, if the call is one.
// A message that is nothing but yes or no is one, too: chat windows have no
// headers. Where nothing waits it has no effect, and the message is sent.
func (c *call) decision() *agentapi.Decision {
	switch c.options.confirm {
	case confirmAccept:
		return &agentapi.Decision{Accept: true}
	case confirmReject:
		return &agentapi.Decision{Reason: refusal}
	}
	if c.options.conversation == "" && c.continues == "" && c.chat == nil || len(c.Images) > 0 {
		return nil
	}
	switch strings.ToLower(strings.Trim(c.Text, " \t\r\n.!")) {
	case "yes":
		return &agentapi.Decision{Accept: true}
	case "no":
		return &agentapi.Decision{Reason: refusal}
	}
	return nil
}

// explain is the problem that err is to this call.
func (c *call) explain(err error) *problem {
	p := explain(err)
	if errors.Is(err, agentapi.ErrUnsupported) {
		_, switched := errors.AsType[*run.SwitchError](err)
		switch message := agentapi.PublicMessage(err, "The agent-server does not support this."); {
		case switched: // a mismatch of the model, whatever names the conversation
		case c.options.confirmation != "":
			return newProblem(openai.CodeUnsupportedParameter, message, err).about(headerConfirmation)
		case c.options.confirm != "":
			return newProblem(openai.CodeUnsupportedParameter, message, err).about(headerConfirm)
		case c.options.conversation == "": // there is no model to switch
			return newProblem(codeOf(codeServerError, err), message, err)
		}
	}
	switch p.wire.Code {
	case codeKeyConflict:
		return p.about(headerKey)
	case codeForbiddenConfirm:
		return p.about(headerConfirmation)
	case codeModelNotFound, codeModelMismatch:
		return p.about("model")
	case codeNoConversation:
		if c.previous != "" {
			return previousNotFound(c.previous, err)
		}
		return p.about(headerConversation)
	}
	return p
}

// ignored names what of the request has no effect, sorted.
func (d *Daemon) ignored(c *call, att *run.Attachment) []string {
	names := slices.Concat(c.Ignored, att.Ignored())
	if d.cfg.IgnoreHistory && len(c.History) > 0 && c.options.conversation == "" {
		names = append(names, "history")
	}
	if c.instructed {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "system" })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

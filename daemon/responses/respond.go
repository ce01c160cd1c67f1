package responses

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

const (
	headerBranch = "X-OpenHands-Branch"
	// maxChain is how many earlier responses are quoted where a conversation
	// cannot be copied.
	maxChain = 100
	// approval is the message of a request that only approves what waits.
	approval = "The user approved."
)

// response is a call for a response.
type response struct {
	*completions.Call
	ask     *openai.ResponseRequest
	api     *API
	client  gate.Client
	prev    *Record       // nil: none
	implied bool          // prev was found, not named
	unknown []openai.Turn // of the history, what prev's conversation does not have
	fork    bool          // prev is not the latest one of its conversation
	claimed bool          // the place after prev
	codex   bool          // its client repeats a failed turn unless told not to
}

// Respond answers POST /v1/responses.
func (api *API) Respond() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		p, err := api.readResponse(x, r)
		if err != nil {
			return err
		}
		s, err := api.completions.Receive(x, r, p.Call)
		if err == nil && s == nil {
			p.release()
			return nil // answered without an agent
		}
		if err != nil || s.Replayed() {
			p.release()
		}
		if err != nil {
			return p.explain(err)
		}
		defer s.Close()
		live, ok := s.Observer().(*Live)
		if !ok {
			return gate.NewProblem(gate.CodeInternal, "Internal error in ohgw; its log has the cause.", errors.New("a run without a response"))
		}
		w := &responder{Answer: api.completions.AnswerOf(x, s), live: live, api: api}
		x.Note(slog.String("response_id", live.ID()))
		switch {
		case p.ask.Stream:
			return w.stream(r.Context())
		case p.ask.Background:
			return w.background(r.Context())
		}
		return w.whole(r.Context())
	}
}

// readResponse decodes and checks the request, and finds what it goes on from.
func (api *API) readResponse(x *gate.Exchange, r *http.Request) (*response, error) {
	options, body, err := x.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	parsed, err := openai.ParseResponse(body, api.core.OpenAILimits())
	if err != nil {
		return nil, err
	}
	x.Note(slog.String("model", gate.LogPath(parsed.Model)), slog.Bool("stream", parsed.Stream))
	if err := api.completions.CheckHosts(r.Context(), parsed.Images); err != nil {
		return nil, err
	}
	schema, err := completions.SchemaOf(parsed.Format)
	if err != nil {
		return nil, err
	}
	p := &response{
		Call: &completions.Call{ChatRequest: &parsed.ChatRequest, Options: options, Schema: schema}, ask: parsed,
		api: api, client: x.Client, codex: isCodex(r.Header),
	}
	if err := p.origin(r.Header); err != nil {
		return nil, err
	}
	p.Route, p.Keep, p.Said = route{p}, parsed.Store, p.said()
	p.Options.Detach = p.Options.Detach || parsed.Background
	return p, nil
}

// isCodex reports whether the client is Codex, which sends a failed turn again
// five times unless the code says that its request is wrong.
func isCodex(h http.Header) bool {
	return strings.Contains(strings.ToLower(h.Get("Originator")+" "+h.Get("User-Agent")), "codex")
}

// origin finds the conversation that the response goes on in.
func (p *response) origin(h http.Header) error {
	branch, err := gate.OneOf(h, headerBranch, "fork", "reject")
	if err != nil {
		return err
	}
	if err := p.approved(); err != nil {
		return err
	}
	if p.ask.Previous == "" {
		p.Named = p.api.namedConversation(p.client, p.ask.Conversation)
		p.Alone = p.Named != ""
		return p.imply(h, branch)
	}
	rec, err := p.api.responseOf(p.client, p.ask.Previous)
	if errors.Is(err, ErrNotFound) {
		return completions.PreviousNotFound(p.ask.Previous, nil)
	}
	if err != nil {
		return storedProblem(err)
	}
	return p.goOnFrom(rec, branch)
}

// goOnFrom makes rec the previous response. Where another one goes on from it in
// its conversation, this one does in a copy.
func (p *response) goOnFrom(rec *Record, branch string) error {
	named := p.Options.Conversation
	if named != "" && named != rec.Conversation {
		return gate.NewProblem(openai.CodeMutuallyExclusive, "The response '"+rec.ID+"' is of another conversation than "+gate.HeaderConversation+" names; send one of the two.", nil).About("previous_response_id")
	}
	p.prev, p.Previous, p.Alone = rec, rec.ID, true
	if p.claimed = p.api.Store.Claim(rec); p.claimed {
		p.Named, p.Existing, p.Once = rec.Conversation, !p.implied, rec.Unstored && !p.ask.Store
		return nil
	}
	if branch == "reject" {
		return gate.NewProblem(openai.CodePreviousNotLatest, "Another response goes on from '"+rec.ID+"' already. Send the id of the latest response, or leave "+headerBranch+" out to continue in a copy.", nil).About("previous_response_id")
	}
	if named != "" {
		return gate.NewProblem(openai.CodePreviousNotLatest, "Another response goes on from '"+rec.ID+"' already. Leave "+gate.HeaderConversation+" out to continue in a copy.", nil).About("previous_response_id")
	}
	p.fork = true
	p.Copied, p.Last = rec.Conversation, rec.Last
	return nil
}

// approved takes the response that the client's approvals answer for the previous
// one: their ids say it, also where the client sends the whole past.
func (p *response) approved() error {
	for i, a := range p.ask.Approvals {
		id := ResponseOf(a.Request)
		if id == "" || p.ask.Previous != "" && p.ask.Previous != id {
			return gate.NewProblem(openai.CodeInvalidValue, "The approval_request_id '"+a.Request+"' is not one of the response that the request continues.", nil).About("input")
		}
		if i == 0 && p.ask.Previous == "" {
			p.ask.Previous, p.ask.Echo.PreviousResponseID = id, &p.ask.Previous
		}
	}
	return nil
}

// decided is what the client's approvals decide: one that refuses refuses all
// actions that wait, because they were proposed together.
func (p *response) decided() *agentapi.Decision {
	for _, a := range p.ask.Approvals {
		if !a.Approve {
			return &agentapi.Decision{Reason: cmp.Or(a.Reason, completions.Refusal)}
		}
	}
	return &agentapi.Decision{Accept: true}
}

// storedProblem is the problem of a stored response that cannot be used.
func storedProblem(err error) *gate.Problem {
	switch {
	case errors.Is(err, ErrNewer):
		return gate.NewProblem(gate.CodeInternal, "The response was stored by a newer ohgw; upgrade ohgw to read it.", err)
	case errors.Is(err, ErrDamaged):
		return gate.NewProblem(gate.CodeInternal, "The file of the response is damaged. Start a new response.", err)
	}
	return gate.Explain(fmt.Errorf("%w: %w", run.ErrState, err))
}

// namedConversation is the UUID of what a client calls a conversation: that of
// OpenAI's form or OpenHands', else one that belongs to the token and the name.
func (api *API) namedConversation(client gate.Client, name string) string {
	if name == "" {
		return ""
	}
	if id, err := uuid.Parse(openai.TrimConversationID(name)); err == nil {
		return id
	}
	sum := sha256.Sum256([]byte(client.ID + "\x00conversation\x00" + name))
	h := []byte(hex.EncodeToString(sum[:16]))
	h[12], h[16] = '8', 'a' // a UUID of the version for hashes of one's own
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// release gives the place after the previous response back.
func (p *response) release() {
	if p.claimed {
		p.api.Store.Release(p.prev.ID)
	}
}

// explain returns err as it is about this request, whose member is input.
func (p *response) explain(err error) error {
	if problem, ok := errors.AsType[*gate.Problem](err); ok && problem.Wire.Param == "messages" {
		return problem.About("input")
	}
	return err
}

// route is the Responses API to the call of a response.
type route struct{ *response }

func (route) Name() string { return "responses" }

// Observer returns the response as the run makes it.
func (p route) Observer(c *completions.Call, profile, model string) run.Observer {
	cfg := Config{
		Response: openai.Response{Model: model, Background: p.ask.Background, Echo: p.ask.Echo}, Record: p.record(c, profile, model),
		Store: p.api.Store, Steps: p.ask.Stream && !p.api.completions.AnswerOnly, Silent: p.api.completions.HideProgress && p.ask.Echo.Reasoning.Summary == nil, AsksApproval: p.ask.AsksApproval,
		Form: c.Schema != nil, Function: c.Function(), Conclude: concludeResponse(p.codex, c.Format), Failed: p.api.notStored, Now: p.api.core.Now,
	}
	if c.Chat == nil && p.repeatsChat() {
		cfg.Asked = chats.Transcript(append(slices.Clone(c.History), openai.Turn{Role: "user", Text: c.Text}))
	}
	return NewLive(cfg)
}

// record returns what is stored of the response.
func (p *response) record(c *completions.Call, profile, model string) *Record {
	rec := &Record{
		Token: p.owner(c), Profile: profile, System: systemHash(c.System), Text: c.Text, Input: p.ask.Input, Model: p.ask.Model,
		Background: p.ask.Background, Echo: p.ask.Echo, Claims: p.claimed, Unstored: !p.ask.Store,
		Kept: c.IsApart(), // the conversation is made for the response
	}
	if model != rec.Model {
		rec.Routed = model
	}
	switch {
	case p.fork:
		rec.Previous, rec.Origin = p.prev.ID, p.prev.Root()
	case p.prev != nil:
		rec.Previous, rec.Kept, rec.Origin = p.prev.ID, p.prev.Kept, p.prev.Origin
	}
	return rec
}

// owner returns the token that the response belongs to: that of its conversation, so
// that a response made for another token's conversation is part of it. One that is
// not stored is found by its client only.
func (p *response) owner(c *completions.Call) string {
	switch {
	case p.fork, !p.ask.Store:
		return p.client.ID
	case p.prev != nil:
		return p.prev.Token
	case c.InConversation() == "", !p.client.Access().All:
		return p.client.ID
	}
	owner, err := p.api.core.Runs.Owner(c.InConversation())
	if err != nil { // then nothing is started
		return p.client.ID
	}
	return cmp.Or(owner, p.client.ID)
}

// systemHash names instructions, which may be long; empty for none.
func systemHash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// chain is what was said up to the previous response.
func (p *response) chain() []openai.Turn {
	var turns []openai.Turn
	seen := make(map[string]bool)
	for rec := p.prev; !seen[rec.ID] && len(seen) < maxChain; {
		seen[rec.ID] = true
		turns = append([]openai.Turn{{Role: "user", Text: rec.Text}, {Role: "assistant", Text: rec.Answer()}}, turns...)
		next, err := p.api.responseOf(p.client, rec.Previous)
		if err != nil {
			break
		}
		rec = next
	}
	return turns
}

// notStored logs that the end of a response could not be stored.
func (api *API) notStored(err error) {
	api.core.Logger.Error("cannot store response", "err", err)
}

// Write writes the answer of a plain LLM as a response.
func (p route) Write(x *gate.Exchange, c *completions.Call, answer completions.Completion) error {
	live := NewLive(Config{
		Response: openai.Response{Model: p.ask.Model, Echo: p.ask.Echo}, Store: p.api.Store, Now: p.api.core.Now,
		Conclude: concludeResponse(p.codex, nil), Function: c.Function(),
	})
	live.Admitted("", strings.ReplaceAll(uuid.New(), "-", ""), p.api.core.Now())
	live.Finish(Ending{Status: openai.ResponseCompleted, Answer: answer.Text, Usage: completions.UsageOf(answer.Usage)})
	if !p.ask.Stream {
		return x.WriteJSON(http.StatusOK, append(live.Object(), '\n'))
	}
	x.StreamHeaders()
	return p.api.writeEvents(context.Background(), x, live, 0)
}

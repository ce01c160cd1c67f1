package conversations

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

const (
	// includeActions lists what the agent did, and why turns failed.
	includeActions = "openhands.actions"
	// includeImages shows the pictures of messages.
	includeImages = "message.input_image.image_url"
)

// includes are what may be asked for: those of ours, and OpenAI's, most of which
// are about what no conversation here has.
func includes() []string {
	return []string{
		includeActions, includeImages, "code_interpreter_call.outputs", "computer_call_output.output.image_url",
		"file_search_call.results", "message.output_text.logprobs", "reasoning.encrypted_content",
		"web_search_call.action.sources", "web_search_call.results",
	}
}

// conversationHandler answers a request about the conversation of its path.
type conversationHandler func(x *gate.Exchange, r *http.Request, access run.Access, id string) error

// conversation reads the id of the path.
func (api *API) conversation(next conversationHandler) gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		id, err := pathConversation(r)
		if err != nil {
			return err
		}
		x.Note(slog.String("conversation_id", id))
		if err := next(x, r, x.Client.Access(), id); err != nil {
			p := gate.Explain(err)
			if p.Wire.Code == gate.CodeNoConversation { // nor is it told that another token has it
				p = noConversation(err)
			}
			return p
		}
		return nil
	}
}

// pathConversation is the conversation in a path, in one of its two spellings.
func pathConversation(r *http.Request) (string, error) {
	id, err := uuid.Parse(openai.TrimConversationID(r.PathValue("id")))
	if err != nil {
		return "", gate.NewProblem(gate.CodeConversationID, "The conversation must be a UUID, or conv_ followed by a UUID.", nil).About("id")
	}
	return id, nil
}

// noConversation is the answer about a conversation that there is not, or that is
// not open to the client.
func noConversation(cause error) *gate.Problem {
	return gate.NewProblem(gate.CodeNoConversation, "This API key has no such conversation.", cause).About("id")
}

// GetConversation answers GET /v1/conversations/{id}.
func (api *API) GetConversation() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		k, err := api.known(r.Context(), access, id)
		if err != nil {
			return err
		}
		return x.Encode(k.wire(api))
	})
}

// DeleteConversation answers DELETE /v1/conversations/{id}.
func (api *API) DeleteConversation() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		err := api.core.Runs.Remove(r.Context(), access, id)
		if errors.Is(err, agentapi.ErrConversationNotFound) {
			err = api.removeUnused(access, id, err)
		}
		if err != nil {
			return err
		}
		api.core.Go(func() { api.forget(id) })
		return x.Encode(openai.NewDeletedConversation(id))
	})
}

// ListItems answers GET /v1/conversations/{id}/items.
func (api *API) ListItems() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		q, err := readItemQuery(r.URL.Query())
		if err != nil {
			return err
		}
		l := itemLister{api: api, access: access, id: id, q: q}
		if l.rec, err = api.added(access, id); err != nil {
			return err
		}
		if err := l.list(r.Context()); err != nil {
			return explainItems(err)
		}
		return x.Encode(openai.NewItemList(l.data, l.ids, l.more))
	})
}

// explainItems returns the problem of a list. An event that is not in the log is one
// that the client named.
func explainItems(err error) error {
	p := gate.Explain(err)
	if agentapi.IsUnknownEvent(err) {
		return gate.NewProblem(openai.CodeInvalidValue, "The conversation has no item with the ID in 'after'.", err).About("after")
	}
	return p
}

// itemQuery is what of the items is wanted.
type itemQuery struct {
	gate.Page
	details, images bool
}

// readItemQuery reads what of the items is wanted.
func readItemQuery(v url.Values) (q itemQuery, err error) {
	if q.Page, err = gate.PageOf(v); err != nil {
		return q, err
	}
	include := slices.Concat(v["include"], v["include[]"])
	for _, name := range include {
		if !slices.Contains(includes(), name) {
			return q, gate.NewProblem(openai.CodeInvalidValue, "'include' has a value that ohgw does not know; it knows "+includeActions+" and "+includeImages+".", nil).About("include")
		}
	}
	q.details, q.images = slices.Contains(include, includeActions), slices.Contains(include, includeImages)
	return q, nil
}

// itemRef is the item of the agent that has this id.
func itemRef(id string) turn.ItemRef {
	event, before, reasoning := openai.ParseItemID(id)
	switch {
	case before:
		return turn.ItemRef{Event: event, Part: turn.PartBefore}
	case reasoning:
		return turn.ItemRef{Event: event, Part: turn.PartReasoning}
	}
	return turn.ItemRef{Event: event}
}

// wireItem returns an item in OpenAI's form, and its id.
func wireItem(item turn.Item, images bool) (wire any, id string) {
	id = openai.MessageID(item.Event, item.Part == turn.PartBefore)
	switch item.Kind {
	case turn.ItemUser:
		urls := item.Images
		if !images {
			urls = make([]string, len(urls))
		}
		return openai.UserMessage(id, item.Text, urls), id
	case turn.ItemSaid:
		return openai.AssistantMessage(id, item.Text, openai.PhaseCommentary), id
	case turn.ItemCall:
		return openai.ActionItem(openai.OneLine(item.Call)), item.Call.ID
	case turn.ItemFailure:
		id = openai.ErrorID(item.Event)
		return openai.ErrorItem{ID: id, Type: openai.ItemError, Message: item.Text}, id
	case turn.ItemReasoning:
		id = openai.ReasoningID(item.Event)
		return openai.ReasoningItem(id, item.Text), id
	case turn.ItemAnswer:
	}
	return openai.AssistantMessage(id, item.Text, openai.PhaseAnswer), id
}

package completions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// chatOf is the chat that a call belongs to; nil if its client names none, or
// names the conversation itself.
func (api *API) chatOf(client gate.Client, c *Call, h http.Header) *chats.ID {
	if c.Options.Conversation != "" {
		return nil
	}
	id, ok := api.Chats.Find(h, c.Label, client.ChatBy)
	if !ok {
		return nil
	}
	id.Token, id.Model = client.ID, c.Model
	c.goOn()
	return &id
}

// afterCall goes on in the conversation whose answer was the call that the message has
// the result of. Where it is not there any more, a new one is told what was said.
func (api *API) afterCall(client gate.Client, c *Call) {
	if c.Options.Conversation == "" && c.Named == "" && api.Runs.IsOneShot(client.Access(), c.Continues) {
		c.Named, c.Once = c.Continues, true
	}
}

// goOnText is asked where the user asks for more of an answer.
const goOnText = "Continue your last answer from where it ends in the chat."

// goOn makes a message of a request that ends in an answer: the button of a UI
// that lets an answer go on. To ask the message before it again would run the
// agent twice.
func (c *Call) goOn() {
	if len(c.Begun) == 0 {
		return
	}
	c.asked = c.Text
	c.History = append(append(c.History, openai.Turn{Role: "user", Text: c.Text}), c.Begun...)
	c.Text, c.Images = goOnText, nil
}

// errDirect marks a chat request that needs no agent.
var errDirect = errors.New("not for an agent")

// begin finds or starts the run that answers the call, in the conversation of
// its chat.
func (api *API) begin(ctx context.Context, c *Call, req run.Request) (*run.Attachment, error) {
	if c.Chat == nil {
		if err := api.choose(ctx, c, &req); err != nil {
			return nil, err
		}
		return api.Runs.Submit(ctx, req)
	}
	visit, att, err := api.enterChat(ctx, c, req)
	if errors.Is(err, chats.ErrUnreadable) {
		err = fmt.Errorf("%w: %w", run.ErrState, err)
	}
	if err != nil {
		return nil, err
	}
	if err := att.Opened(ctx); err != nil {
		att.Close()
		visit.Close()
		return nil, err
	}
	c.Leave() // an answer that was not taken
	c.visit = visit
	return att, nil
}

// enterChat finds or starts the run of a call with a chat. The chat is held
// throughout, so that two requests of it that come together find one
// conversation; it is free again when enterChat returns.
func (api *API) enterChat(ctx context.Context, c *Call, req run.Request) (*chats.Visit, *run.Attachment, error) {
	visit, err := api.chats.Enter(chatRequest(c, api.IgnoreHistory))
	if err != nil {
		return nil, nil, err
	}
	started := false
	defer func() { visit.Settle(started) }()
	if visit.Direct && api.Complete != nil && api.Housekeeping != HousekeepingAgent {
		visit.Close()
		return nil, nil, errDirect
	}
	req.ConversationID, req.Origin, req.From = visit.Conversation, visit.Origin, visit.From
	if !req.Named {
		req.Workspace = api.chatPlace(c.Chat, visit)
	}
	if err := api.choose(ctx, c, &req); err != nil {
		visit.Close()
		return nil, nil, err
	}
	req.Chat, req.Kind = visit, visit.Planned()
	att, err := api.Runs.Admit(req)
	if err != nil {
		visit.Close()
		return nil, nil, err
	}
	started = !att.Replayed()
	return visit, att, nil
}

// chatPlace is where a new conversation of a chat works; empty: wherever new
// ones do.
func (api *API) chatPlace(id *chats.ID, visit *chats.Visit) string {
	if !api.WorkspacePerChat || id.Shared && visit.Workspace != "" {
		return visit.Workspace
	}
	place := *id
	place.Shared = place.Shared || visit.Aside
	return filepath.Join(api.chatRoot(), place.Place(visit.Conversation))
}

// Leave ends the visit to the chat, whatever became of the call.
func (c *Call) Leave() {
	if c.visit != nil {
		c.visit.Close()
	}
}

// chatRequest is the call as its chat sees it.
func chatRequest(c *Call, noQuotes bool) chats.Request {
	r := chats.Request{ID: *c.Chat, History: c.History, Text: c.Text, System: c.System, Tools: c.tools(), NoQuotes: noQuotes}
	if c.asked != "" {
		r.Text = c.asked
		for _, t := range c.Begun {
			r.Begun += t.Text
		}
	}
	return r
}

// chatRoot is where the directories of chats are.
func (api *API) chatRoot() string {
	if api.Workspace != "" {
		return api.Workspace
	}
	return filepath.Join(api.StateDir, gate.Workspaces)
}

// NoteSent notes what of an answer goes to the client.
func (a *Answer) NoteSent(text string) {
	if a.call.visit != nil {
		a.call.visit.Show(text)
		return
	}
	a.text.Add(text)
}

// noteShown notes that the client has all of the answer. A conversation without a
// chat may turn out to be the beginning of one.
func (a *Answer) noteShown() {
	c := a.call
	switch {
	case c.visit != nil:
		c.visit.Shown(a.Attachment.ConversationID())
	case c.Options.Conversation == "":
		a.API.chats.Remember(a.X.Client.ID, c.Model, a.Attachment.ConversationID(), c.History, c.Text, &a.text)
	}
}

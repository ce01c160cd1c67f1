package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// chatOf is the chat that a call belongs to; nil if its client names none, or
// names the conversation itself.
func (d *Daemon) chatOf(client Client, c *call, h http.Header) *chats.ID {
	if c.options.conversation != "" {
		return nil
	}
	id, ok := d.cfg.Chats.Find(h, c.Label, client.ChatBy)
	if !ok {
		return nil
	}
	id.Token, id.Model = client.ID, c.Model
	c.goOn()
	return &id
}

// afterCall goes on in the conversation whose answer was the call that the message has
// the result of. Where it is not there any more, a new one is told what was said.
func (d *Daemon) afterCall(client Client, c *call) {
	if c.options.conversation == "" && c.continues == "" && d.runs.IsOneShot(client.access(), c.Continues) {
		c.continues, c.once = c.Continues, true
	}
}

// goOnText is asked where the user asks for more of an answer.
const goOnText = "Continue your last answer from where it ends in the chat."

// goOn makes a message of a request that ends in an answer: the button of a UI
// that lets an answer go on. To ask the message before it again would run the
// agent twice.
func (c *call) goOn() {
	if len(c.Begun) == 0 {
		return
	}
	c.asked = c.Text
	c.History = append(append(c.History, openai.Turn{Role: "user", Text: c.Text}), c.Begun...)
	c.Text, c.Images = goOnText, nil
}

// errDirect marks a chat request that needs no agent.
var errDirect = errors.New("not for an agent")

// tools reports whether the client offers tools of its own.
func (c *call) tools() bool { return slices.Contains(c.Ignored, "tools") }

// chatKey distinguishes chats in the fingerprint of a call.
func (c *call) chatKey() string {
	if c.chat == nil {
		return ""
	}
	return c.chat.Key()
}

// begin finds or starts the run that answers the call, in the conversation of
// its chat.
func (d *Daemon) begin(ctx context.Context, c *call, req run.Request) (*run.Attachment, error) {
	if c.chat == nil {
		if err := d.choose(ctx, c, &req); err != nil {
			return nil, err
		}
		return d.runs.Submit(ctx, req)
	}
	visit, att, err := d.enterChat(ctx, c, req)
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
	c.leave() // an answer that was not taken
	c.visit = visit
	return att, nil
}

// enterChat finds or starts the run of a call with a chat. The chat is held
// throughout, so that two requests of it that come together find one
// conversation; it is free again when enterChat returns.
func (d *Daemon) enterChat(ctx context.Context, c *call, req run.Request) (*chats.Visit, *run.Attachment, error) {
	visit, err := d.chats.Enter(chatRequest(c, d.cfg.IgnoreHistory))
	if err != nil {
		return nil, nil, err
	}
	started := false
	defer func() { visit.Settle(started) }()
	if visit.Direct && d.cfg.Complete != nil && d.cfg.Housekeeping != HousekeepingAgent {
		visit.Close()
		return nil, nil, errDirect
	}
	req.ConversationID, req.Origin, req.From = visit.Conversation, visit.Origin, visit.From
	if !req.Named {
		req.Workspace = d.chatPlace(c.chat, visit)
	}
	if err := d.choose(ctx, c, &req); err != nil {
		visit.Close()
		return nil, nil, err
	}
	req.Chat, req.Kind = visit, visit.Planned()
	att, err := d.runs.Admit(req)
	if err != nil {
		visit.Close()
		return nil, nil, err
	}
	started = !att.Replayed()
	return visit, att, nil
}

// chatPlace is where a new conversation of a chat works; empty: wherever new
// ones do.
func (d *Daemon) chatPlace(id *chats.ID, visit *chats.Visit) string {
	if !d.cfg.WorkspacePerChat || id.Shared && visit.Workspace != "" {
		return visit.Workspace
	}
	place := *id
	place.Shared = place.Shared || visit.Aside
	return filepath.Join(d.chatRoot(), place.Place(visit.Conversation))
}

// leave ends the visit to the chat, whatever became of the call.
func (c *call) leave() {
	if c.visit != nil {
		c.visit.Close()
	}
}

// chatRequest is the call as its chat sees it.
func chatRequest(c *call, noQuotes bool) chats.Request {
	r := chats.Request{ID: *c.chat, History: c.History, Text: c.Text, System: c.System, Tools: c.tools(), NoQuotes: noQuotes}
	if c.asked != "" {
		r.Text = c.asked
		for _, t := range c.Begun {
			r.Begun += t.Text
		}
	}
	return r
}

// chatRoot is where the directories of chats are.
func (d *Daemon) chatRoot() string {
	if d.cfg.Workspace != "" {
		return d.cfg.Workspace
	}
	return filepath.Join(d.cfg.StateDir, workspaces)
}

// noteSent notes what of an answer goes to the client.
func (a *answer) noteSent(text string) {
	if a.call.visit != nil {
		a.call.visit.Show(text)
		return
	}
	a.text.Add(text)
}

// noteShown notes that the client has all of the answer. A conversation without a
// chat may turn out to be the beginning of one.
func (a *answer) noteShown() {
	c := a.call
	switch {
	case c.visit != nil:
		c.visit.Shown(a.att.ConversationID())
	case c.options.conversation == "":
		a.x.d.chats.Remember(a.x.client.ID, c.Model, a.att.ConversationID(), c.History, c.Text, &a.text)
	}
}

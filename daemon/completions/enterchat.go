package completions

import (
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
)

// inChat returns a call with its chat, or with the conversation whose answer was the call
// that the message has the result of: the client names one of the two, or neither.
func (api *API) inChat(client gate.Client, c *Call, h http.Header) *Call {
	if c.Options.Conversation != "" {
		return c
	}
	in := *c
	if id, ok := api.Chats.Find(h, c.Label, client.ChatBy); ok {
		id.Token, id.Model = client.ID, c.Model
		in.ChatRequest = goOn(c.ChatRequest)
		in.Chat = &chats.Request{ID: id, History: in.History, Text: in.Text, System: c.System, Tools: c.tools(), NoQuotes: api.IgnoreHistory}
		if len(c.Begun) > 0 && c.Text != "" {
			in.Chat.Text = c.Text
			for _, t := range c.Begun {
				in.Chat.Begun += t.Text
			}
		}
		return &in
	}
	// Where it is not there any more, a new one is told what was said.
	if c.Named == "" && api.core.Runs.IsOneShot(client.Access(), c.Continues) {
		in.Named, in.Once = c.Continues, true
	}
	return &in
}

// goOnText is asked where the user asks for more of an answer.
const goOnText = "Continue your last answer from where it ends in the chat."

// goOn makes a message of a request that ends in an answer: the button of a UI
// that lets an answer go on. To ask the message before it again would run the
// agent twice.
func goOn(r *openai.ChatRequest) *openai.ChatRequest {
	if len(r.Begun) == 0 {
		return r
	}
	next := *r
	next.History = slices.Concat(r.History, []openai.Turn{{Role: "user", Text: r.Text}}, r.Begun)
	next.Text, next.Images = goOnText, nil
	return &next
}

// NoteSent notes what of an answer goes to the client.
func (a *Answer) NoteSent(text string) {
	if a.at.visit != nil {
		a.at.visit.Show(text)
		return
	}
	a.text.Add(text)
}

// noteShown notes that the client has all of the answer. A conversation without a
// chat may turn out to be the beginning of one.
func (a *Answer) noteShown() {
	switch {
	case a.at.visit != nil:
		a.at.visit.Shown(a.Attachment.ConversationID())
	case a.call.Options.Conversation == "":
		a.api.chats.Remember(a.X.Client.ID, a.model, a.Attachment.ConversationID(), a.call.History, a.call.Text, &a.text)
	}
}

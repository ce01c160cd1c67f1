package completions

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/structured"
)

// Refusal is the reason sent to the agent for actions that the user refused; the
// user's message follows.
const Refusal = "The user refused."

// Call is a request that an agent answers, read whole: a chat completion, or a response.
// It does not change.
type Call struct {
	*openai.ChatRequest
	Route   Route
	Options gate.Options
	Origin
	Said
	Chat *chats.Request // the call as its chat sees it; nil: the client names no chat

	// Schema is what the answer has to satisfy; nil: it may be any text.
	Schema *structured.Schema
}

// Route is the API by which a call comes.
type Route interface {
	// Name distinguishes its requests from the same ones of another API.
	Name() string
	// Observer sees what becomes of the run that a call starts with a profile; nil if it
	// is not needed.
	Observer(c *Call, profile string) run.Observer
	// Write writes the answer of a plain LLM.
	Write(x *gate.Exchange, c *Call, answer Completion) error
}

// Origin is what a call goes on from, as far as the client says it in another way than
// by the header of the conversation, or by its chat.
type Origin struct {
	// Named is the conversation; empty: none.
	Named string
	// Existing: that conversation is not made where it is not there any more.
	Existing bool
	// Once: what the call continues is a one-shot, and stays one.
	Once bool
	// Copied is the conversation that the call goes on from in a copy, up to the event
	// Last; empty: none.
	Copied, Last string
	// Keep: a conversation that is made for the call alone stays.
	Keep bool
	// Previous is the response that the client names to go on from; empty: none.
	Previous string
	// Alone: no chat is looked for.
	Alone bool
}

// Said is what a route says to the agent besides the message. The zero value is nothing.
type Said struct {
	// Instructed: a conversation that goes on gets the system text in the message.
	Instructed bool
	// Before goes before the message, and Instead takes the place of an empty one.
	Before, Instead string
	// NoSystem: the conversation gets no system text but that in Before.
	NoSystem bool
	// Compose and Kind are those of [run.Words].
	Compose func(info agentapi.Info, forked bool) (text, kind, line string)
	Kind    string
	// Decision takes the place of the one that the headers or the message make; nil:
	// nothing does.
	Decision *agentapi.Decision
}

// chatRoute is the route of chat completions.
type chatRoute struct{ api *API }

func (chatRoute) Name() string { return "chat" }

func (chatRoute) Observer(*Call, string) run.Observer { return nil }

func (r chatRoute) Write(x *gate.Exchange, c *Call, answer Completion) error {
	return r.api.writeAnswer(x, c, answer)
}

// InConversation is the conversation that the client names, in whatever way; empty: none.
func (c *Call) InConversation() string { return cmp.Or(c.Options.Conversation, c.Named) }

// IsApart reports whether the call belongs to no conversation and no chat: what it runs
// in is made for it alone.
func (c *Call) IsApart() bool { return c.InConversation() == "" && c.Chat == nil }

// tools reports whether the client offers tools of its own.
func (c *Call) tools() bool { return slices.Contains(c.Ignored, "tools") }

// fingerprint identifies calls that ask for the same.
func (c *Call) fingerprint(client gate.Client, workspace string) run.Fingerprint {
	chat := ""
	if c.Chat != nil {
		chat = c.Chat.ID.Key()
	}
	h := sha256.New()
	for _, part := range [...]string{client.ID, c.Route.Name(), c.Options.Conversation, c.Options.Confirm, chat, c.Options.Attempt} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	if workspace != "" || c.Options.Confirmation != "" { // else as it always was: records outlive a release
		h.Write([]byte("\x00" + workspace + "\x00" + c.Options.Confirmation + "\x00"))
	}
	if c.Options.ReadOnly {
		h.Write([]byte("\x00" + gate.AccessRead + "\x00"))
	}
	h.Write(c.Digest[:])
	return run.Fingerprint(h.Sum(nil))
}

// decision is the answer to what waits for a confirmation, if the call is one.
// A message that is nothing but yes or no is one, too: chat windows have no
// headers. Where nothing waits it has no effect, and the message is sent.
func (c *Call) decision() *agentapi.Decision {
	switch {
	case c.Options.Confirm == gate.ConfirmAccept:
		return &agentapi.Decision{Accept: true}
	case c.Options.Confirm == gate.ConfirmReject:
		return &agentapi.Decision{Reason: Refusal}
	case c.IsApart(), len(c.Images) > 0:
		return nil
	}
	switch strings.ToLower(strings.Trim(c.Text, " \t\r\n.!")) {
	case "yes":
		return &agentapi.Decision{Accept: true}
	case "no":
		return &agentapi.Decision{Reason: Refusal}
	}
	return nil
}

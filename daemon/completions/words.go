package completions

import (
	"cmp"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// Refusal is the reason sent to the agent for actions that the user refused; the
// user's message follows.
const Refusal = "The user refused."

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

// words returns what is said to the agent at a place.
func (api *API) words(c *Call, at Place) run.Words {
	text := c.Before + c.Text
	if strings.TrimSpace(text) == "" {
		text = cmp.Or(c.Instead, text)
	}
	if c.Schema != nil {
		text += "\n\n" + c.Schema.Instruction()
	}
	w := run.Words{
		System: c.System, Message: agentapi.Message{Text: text, Images: c.Images}, Quoted: api.Quoted(c),
		Goal: c.Options.Goal, Compose: c.Compose, Kind: c.Kind, Decision: cmp.Or(c.Decision, c.decision()),
	}
	if c.NoSystem {
		w.System = ""
	}
	if at.visit != nil {
		w.Chat, w.Kind = at.visit, at.visit.Planned()
	}
	return w
}

// Quoted is what a new conversation is told of what was said before a call.
func (api *API) Quoted(c *Call) string {
	if api.IgnoreHistory {
		return ""
	}
	return openai.Quote(c.History, openai.MaxQuote)
}

// decision reads the call as the answer to what waits for a confirmation; nil if it is
// not one. A message that is nothing but yes or no is one, too: chat windows have no
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

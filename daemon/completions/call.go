package completions

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/structured"
)

// Call is a request that an agent answers, read whole: a chat completion, or a response.
// It does not change.
type Call struct {
	*openai.ChatRequest
	Route   Route
	Options gate.Options
	Origin
	Said
	Chat *chats.Request // the call as its chat sees it; nil: the client names no chat

	// Pays pays for the answer; nil: there is no limit.
	Pays *gate.Purse
	// Schema is what the answer has to satisfy; nil: it may be any text.
	Schema *structured.Schema
}

// Route is the API by which a call comes.
type Route interface {
	// Name distinguishes its requests from the same ones of another API.
	Name() string
	// Observer sees what becomes of the run that a call starts with a profile, whose
	// answer is one of the model; nil if it is not needed.
	Observer(c *Call, profile, model string) run.Observer
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

// chatRoute is the route of chat completions.
type chatRoute struct{ api *API }

func (chatRoute) Name() string { return "chat" }

func (chatRoute) Observer(*Call, string, string) run.Observer { return nil }

func (r chatRoute) Write(x *gate.Exchange, c *Call, answer Completion) error {
	return r.api.writeAnswer(x, c, answer)
}

// InConversation is the conversation that the client names, in whatever way; empty: none.
func (c *Call) InConversation() string { return cmp.Or(c.Options.Conversation, c.Named) }

// IsApart reports whether the call belongs to no conversation and no chat: what it runs
// in is made for it alone.
func (c *Call) IsApart() bool { return c.InConversation() == "" && c.Chat == nil }

// paid returns the call of a client with what its token may spend. One that may get the
// answer of an earlier run is checked when its run begins.
func (c *Call) paid(x *gate.Exchange) (*Call, error) {
	purse, err := x.Core.PurseOf(x.Client)
	if purse == nil || err != nil {
		return c, err
	}
	paid := *c
	paid.Pays = purse
	if c.Options.Retry || c.Options.Key != "" {
		return &paid, nil
	}
	return &paid, purse.Check()
}

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
	if c.Options.Budget > 0 {
		h.Write([]byte("\x00" + strconv.FormatFloat(c.Options.Budget, 'g', -1, 64) + "$\x00"))
	}
	if g := c.Options.Goal; g != nil {
		fmt.Fprintf(h, "\x00goal\x00%d\x00%s\x00", g.Rounds, g.Objective)
	}
	h.Write(c.Digest[:])
	return run.Fingerprint(h.Sum(nil))
}

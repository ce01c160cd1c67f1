// Package completions answers chat completions, and lists the models that can be
// asked. chat.go has the path of a request, answer.go and its neighbours write what
// the run says.
//
// The package responses stands on this one: a [Call] is a request that an agent
// answers, and an [Answer] is what a run says to one client, in whatever form.
//
// Invariant: a stream that has begun ends in a finish or in an error frame, never in
// silence.
package completions

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/routing"
)

// Options say how chat completions are answered. Zero values take the defaults
// named beside them.
type Options struct {
	// Complete asks an LLM without an agent, for what chat UIs want behind the
	// user's back. Nil: there is none.
	Complete CompleteFunc
	// Router is OpenHands' active meta-profile, by which the model auto chooses an LLM
	// profile; nil where there is none. Its error is for clients.
	Router func(context.Context) (*routing.Router, error)
	// Housekeeping says who answers what UIs want behind the user's back. Empty:
	// HousekeepingLLM.
	Housekeeping Housekeeping

	// Sees reports whether a model, named as in a profile, is shown images, if
	// that is known. Nil: nothing is.
	Sees func(model string) (sees, known bool)
	// Lookup finds the addresses of the host of an image; nil: the system's.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Chats finds the names of chats beyond those known.
	Chats chats.Finder
	// SharedChats keeps the chats of several gateways; nil: those of this one are in its state
	// directory.
	SharedChats chats.Store
	// WorkspacePerChat gives each chat a directory of its own, below Workspace
	// if there is one, that all its conversations work in.
	WorkspacePerChat bool

	AnswerOnly    bool // streams carry the final answer only, not every text as it is written
	HideProgress  bool // no reasoning_content
	IgnoreHistory bool // earlier turns of a request are not quoted to a new conversation

	Heartbeat      time.Duration // silence after which a stream gets an empty chunk; 0: 4 s, negative: never
	WholeHeartbeat time.Duration // silence after which an answer in one piece gets white space; 0: 15 s, negative: never
}

const (
	defaultHeartbeat      = 4 * time.Second
	defaultWholeHeartbeat = 15 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, defaultHeartbeat)
	o.WholeHeartbeat = cmp.Or(o.WholeHeartbeat, defaultWholeHeartbeat)
	return o
}

// ask asks the LLM of a profile without an agent. What that takes is paid by a purse.
func (api *API) ask(ctx context.Context, pays *gate.Purse, p Prompt) (Completion, error) {
	if err := pays.Check(); err != nil {
		return Completion{}, err
	}
	answer, err := api.Complete(ctx, p)
	pays.Add(answer.Usage)
	return answer, err
}

// CompleteFunc asks the LLM of a profile once: no agent, no tools, no
// conversation, no second attempt. The error is an [agentapi.Error] of the
// kinds ErrProfileNotFound, ErrUnsupported where the profile cannot be called
// from here, ErrRefused where its provider said no; or ctx's. Its private cause
// has no word of the prompt.
type CompleteFunc func(ctx context.Context, p Prompt) (Completion, error)

// Prompt is what an LLM is asked.
type Prompt struct {
	Profile  string
	Messages []PromptMessage // at most one system message, the first
	// MaxTokens bounds the answer, what the model thinks included.
	MaxTokens int64
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	Role string // "system", "user" or "assistant"
	Text string
}

// Completion is the answer to a prompt.
type Completion struct {
	Text  string
	Usage turn.Usage
}

// API answers chat completions, and lists the models. Make one with New, end it
// with Close.
type API struct {
	core *gate.Core
	Options
	chats       *chats.Registry
	models      *catalogue
	directCalls chan struct{} // holds one for each direct call of an LLM that goes on
}

// New returns the API of a daemon.
func New(core *gate.Core, o Options) *API {
	return &API{
		core: core, Options: o.withDefaults(), directCalls: make(chan struct{}, maxDirect),
		chats:  chats.Open(chats.Config{StateDir: core.StateDir, Shared: o.SharedChats, Now: core.Now, Logger: core.Logger, Loose: core.OneShotTTL}),
		models: newCatalogue(core),
	}
}

// DrainDirect waits for the direct calls of an LLM, and lets none begin.
func (api *API) DrainDirect(limit context.Context) {
	for range cap(api.directCalls) {
		select {
		case api.directCalls <- struct{}{}:
		case <-limit.Done():
			return
		}
	}
}

// Refresh asks the backend for its profiles.
func (api *API) Refresh(ctx context.Context) { api.models.refresh(ctx) }

// Ready reports whether the backend can say its profiles.
func (api *API) Ready(ctx context.Context) error { return api.models.ready(ctx) }

// Close lets go of everything.
func (api *API) Close() {
	api.chats.Close()
	api.models.close()
}

package gate

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/budget"
)

// Client is who calls.
type Client struct {
	// ID is the same for the whole life of the client's token. It is not a secret.
	ID   string
	Name string // for logs and lists
	// Models are the ids it may use; empty: all.
	Models []string
	// ChatBy are fields of a request's body that name a chat for this client,
	// of those that name a person for most: "user", "prompt_cache_key".
	ChatBy []string
	// Operator sees and stops the runs of all clients.
	Operator bool
	// Workspaces are the directories, absolute, that it may choose for its
	// conversations, with all below them; [workdir.Any]: every one. Empty: none.
	Workspaces []string
	// AllConversations: it reads, continues, stops and deletes the conversations and
	// responses of all tokens.
	AllConversations bool
	// Confirm is the lowest confirmation mode of a conversation while an agent works
	// in it for this client; empty: any.
	Confirm agentapi.Confirmation
	// Budgets are what its runs may take in a period. Empty: there is no limit.
	Budgets []budget.Rule
	// Person is the user at this machine, not a program with a key: every
	// conversation is open to it, and what it begins stays open to all tokens.
	Person bool
	// Native says that it may use OpenHands' own API, which reads secrets, runs
	// commands and knows no owners.
	Native bool
}

// Allows reports whether the client may use one of these names of a model.
func (c Client) Allows(ids ...string) bool {
	return len(c.Models) == 0 || slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(c.Models, id) })
}

// Tokens knows the keys of clients.
type Tokens interface {
	// Check finds who presents a key, in a time that does not depend on how
	// much of it is right. The errors are ErrUnknownKey, ErrExpiredKey, or why
	// the key could not be checked.
	Check(presented string) (Client, error)
}

// KnownTokens are [Tokens] that find a client by the id of its token, too.
type KnownTokens interface {
	// ByID finds a client. The error is ErrUnknownKey where its token was revoked, or why
	// it is not known whether it was.
	ByID(id string) (Client, error)
}

// What can be wrong with a key.
var (
	ErrUnknownKey = errors.New("unknown API key")
	ErrExpiredKey = errors.New("the API key has expired")
)

// Reach is whose runs the client sees and stops: the id of its token, or "" for
// those of all tokens.
func (c Client) Reach() string {
	if c.Operator || c.AllConversations || c.Person {
		return ""
	}
	return c.ID
}

// Access is which conversations and responses are open to the client. A token for
// some models enters what it has started and nothing else.
func (c Client) Access() run.Access {
	return run.Access{Token: c.ID, Own: len(c.Models) > 0, All: c.AllConversations, Person: c.Person}
}

// anonymous is every client of a daemon without keys.
const anonymous = "anonymous"

// Private lets only clients with a key pass, and no client while the daemon ends.
func (core *Core) Private(next Handler) Handler {
	return func(x *Exchange, r *http.Request) error {
		if err := core.admit(x, r); err != nil {
			return err
		}
		return next(x, r)
	}
}

// admit notes the client of a request that may pass. It is apart from the request itself,
// which keeps its stack for as long as an answer takes.
func (core *Core) admit(x *Exchange, r *http.Request) error {
	client, err := core.Identify(r)
	if err != nil {
		return err
	}
	x.Client, x.tellsPaths = client, client.Chooses() && !FromPage(r)
	if core.IsDraining() {
		return NewProblem(CodeNotReady, "ohgw is shutting down; try again in a moment.", nil)
	}
	return nil
}

// Outside lets everybody pass where the path is written without /v1; with it a client
// needs a key.
func (core *Core) Outside(next Handler) Handler {
	return func(x *Exchange, r *http.Request) error {
		if x.versioned {
			client, err := core.Identify(r)
			if err != nil {
				return err
			}
			x.Client = client
		}
		return next(x, r)
	}
}

// Identify finds the client of a request. No part of a key gets any further.
func (core *Core) Identify(r *http.Request) (Client, error) {
	return core.IdentifyKeys(PresentedKeys(r))
}

// IdentifyKeys finds the client of the first of some keys that is one.
func (core *Core) IdentifyKeys(keys []string) (Client, error) {
	if core.NoAuth {
		return Client{ID: anonymous, Person: true, Native: true}, nil
	}
	if len(keys) == 0 {
		return Client{}, NewProblem(codeMissingKey, "No API key provided; send Authorization: Bearer <key>.", nil)
	}
	p := NewProblem(codeInvalidKey, "Incorrect API key provided.", nil)
	for _, key := range keys {
		client, err := core.Tokens.Check(key)
		switch {
		case err == nil:
			return client, nil
		case errors.Is(err, ErrExpiredKey):
			p = NewProblem(codeInvalidKey, "The API key has expired; create a new one with ohgw tokens create.", nil)
		case !errors.Is(err, ErrUnknownKey):
			return Client{}, NewProblem(CodeInternal, "The API key cannot be checked; the log of ohgw serve has the cause.", err)
		}
	}
	return Client{}, p
}

// PresentedKeys reads all keys of a request. SDKs always send an Authorization
// header, so a key in another one stands beside a placeholder.
func PresentedKeys(r *http.Request) []string {
	var keys []string
	for _, v := range r.Header.Values("Authorization") {
		scheme, key, _ := strings.Cut(v, " ")
		if key = strings.TrimSpace(key); strings.EqualFold(scheme, "Bearer") && key != "" {
			keys = append(keys, key)
		}
	}
	for _, name := range [...]string{"X-Session-Api-Key", "X-Api-Key", "Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

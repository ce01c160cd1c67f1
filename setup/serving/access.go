package serving

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

// checker is the store of tokens as the daemon asks for it.
type checker struct{ store *token.Store }

func (k checker) Check(presented string) (gate.Client, error) {
	t, err := k.store.Check(presented)
	switch {
	case errors.Is(err, token.ErrUnknown):
		return gate.Client{}, gate.ErrUnknownKey
	case errors.Is(err, token.ErrExpired):
		return gate.Client{}, gate.ErrExpiredKey
	case err != nil:
		return gate.Client{}, err
	}
	return clientOf(t), nil
}

// errReplaced says that the stored tokens are not those in use.
var errReplaced = errors.New("the keys of OHGW_API_KEYS are in use, not the stored tokens")

// ByID finds the client whose token has an id, also one that has expired.
func (k checker) ByID(id string) (gate.Client, error) {
	if k.store.Replaced() {
		return gate.Client{}, errReplaced
	}
	tokens, err := k.store.List()
	if err != nil {
		return gate.Client{}, err
	}
	for _, t := range tokens {
		if t.ID == id {
			return clientOf(t), nil
		}
	}
	return gate.Client{}, gate.ErrUnknownKey
}

func clientOf(t token.Token) gate.Client {
	return gate.Client{
		ID: t.ID, Name: t.Name, Models: t.Models, ChatBy: t.ChatBy, Workspaces: t.Workspaces, Operator: t.Operator(),
		AllConversations: t.AllConversations, Confirm: agentapi.Confirmation(t.Confirm), Budgets: t.Budgets, Native: t.MayUseNative(),
	}
}

// Access is who may come in, and what can be said about it.
type Access struct {
	store  *token.Store // nil: everybody
	Value  secret.Value // a key to paste; zero if none is known
	Source string       // what key that is, or why none is known
}

// Tokens are those that the daemon knows; nil: everybody may come in.
func (d Access) Tokens() gate.Tokens {
	if d.store == nil {
		return nil
	}
	return checker{d.store}
}

// OpenAccess opens the tokens, and makes the default one the first time. shown
// reports whether its value is going to be shown to a person.
func OpenAccess(ctx context.Context, env *setup.Env, s *config.Settings, state string, shown bool) (Access, error) {
	if s.NoAuth {
		return Access{Source: "none is needed (" + s.Origin("no_auth").String() + ")"}, nil
	}
	if set := env.Getenv("OHGW_API_KEYS"); set != "" && len(token.SplitKeys(set)) == 0 {
		return Access{}, fault.NewUsage("OHGW_API_KEYS is set but contains no key", "set it to keys separated by commas, or unset it to use the stored tokens")
	}
	// A daemon has no user who could unlock a keyring; its clients should not wait.
	values, err := env.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return Access{}, err
	}
	store := token.NewStore(token.Config{Dir: state, Now: env.Now, Keys: token.SplitKeys(env.Getenv("OHGW_API_KEYS")), Values: values})
	if store.Replaced() {
		return Access{store: store, Source: "those of OHGW_API_KEYS"}, nil
	}
	return openDefaultToken(ctx, env, store, values, shown)
}

// openDefaultToken makes the default token the first time, and finds its value if it
// is going to be shown.
func openDefaultToken(ctx context.Context, env *setup.Env, store *token.Store, values *setup.KeyStore, shown bool) (Access, error) {
	made, err := store.EnsureDefault(ctx)
	if err != nil {
		return Access{}, env.TokenFault(err, token.DefaultName)
	}
	d := Access{store: store, Value: made.Value, Source: sourceText(nil)}
	if made.Name != "" {
		env.TellKept(ctx, store, made, values)
		return d, nil
	}
	if shown {
		d.Value, _, err = store.Default(ctx)
	} else {
		_, err = store.WhereDefault(ctx)
	}
	d.Source = sourceText(err)
	return d, nil
}

// DefaultKey is the Source of an Access by the default token.
const DefaultKey = `the token "default"`

// sourceText says what key clients can show; err is why the default one is not
// known.
func sourceText(err error) string {
	if err == nil {
		return DefaultKey
	}
	return "see ohgw tokens list (" + publicCause(err) + ")"
}

// publicCause is why the default token cannot be shown, in a few words.
func publicCause(err error) string {
	switch {
	case errors.Is(err, token.ErrNotFound):
		return "the default token was revoked"
	case errors.Is(err, token.ErrNoValue):
		return "the value of the default token is no longer stored here"
	}
	return setup.Clean(err.Error())
}

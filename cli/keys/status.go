package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

func newStatus(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the key store, and which key each profile uses",
		Long: kit.Long(`
Shows the key store, its origin, whether it works, the key that each profile
would use, and whether the store has the gateway's default token. The command
reads no key.

The exit code is 4 if the store cannot be used; the status is printed, too. In a
pipe, the lines about profiles begin with "profile". With --json the output has
store (kind, origin, path, works, problem, keys, plain, exposed, default_token)
and profiles (name, model, base, key_from).`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example:           kit.Examples("ohgw keys status", "ohgw keys status --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), opts) },
	}
}

// storeState is the state of a store in JSON. Plain is the number of keys
// that are not encrypted; in a keyring that is the system's business.
type storeState struct {
	setup.KeyStoreJSON

	Works   bool   `json:"works"`
	Problem string `json:"problem,omitempty"`
	Keys    int    `json:"keys"`
	Plain   int    `json:"plain"`
	Exposed bool   `json:"exposed"`

	// DefaultToken is where the value of the gateway's default token is:
	// store, file, not-kept, or none when there is no such token.
	DefaultToken string `json:"default_token"`
}

// profileKey is which key a profile would use.
type profileKey struct {
	Name    string        `json:"name"`
	Base    string        `json:"base"`
	Model   string        `json:"model"`
	KeyFrom secret.Origin `json:"key_from"`
	Note    string        `json:"note,omitempty"`
}

// runStatus runs the command.
func runStatus(ctx context.Context, o *options) error {
	store, err := o.KeyStore(o.flags)
	if err != nil {
		return err
	}
	state, failed := lookAt(ctx, o.App, store)
	stores, err := o.Setup().ProfileStores(0)
	if err != nil {
		return err
	}
	keys := o.Setup().FindKeys(ctx, store)
	profiles := []profileKey{}
	for _, s := range stores {
		list, err := s.List(ctx)
		if err != nil {
			return o.Setup().ProfileFault(ctx, err, "")
		}
		for _, p := range list {
			key := profileKey{Name: p.Name, Base: p.Base, Model: p.Model, KeyFrom: keys.From(p.Subject())}
			switch {
			case !p.Usable():
				key.Note = p.Problem
			case p.Broken:
				key.Note = fmt.Sprintf("provider connection not found: %q; ohgw profiles check %s", p.Connection, p.Name)
			case key.KeyFrom.Kind != secret.FromNowhere:
			case p.Auth == "subscription":
				key.Note = "uses a subscription"
			case keys.Keyless(p.Subject()):
				key.Note = "no key needed"
			default:
				if err := keys.Refused(p.Subject(), keys.Names); err != nil {
					key.Note = err.Error()
				} else if withheld := keys.Withheld(p.Subject(), keys.Names); withheld.Kind != secret.FromNowhere {
					key.Note = "the " + withheld.String() + " is sent to that provider's hosts only"
				}
			}
			profiles = append(profiles, key)
		}
	}
	if o.JSON {
		err = o.PrintJSON(map[string]any{"store": state, "profiles": profiles})
	} else {
		err = printStatus(o.App, store, state, profiles, stores[0].Base())
	}
	if err != nil {
		return err
	}
	return failed
}

// lookAt finds out what state a store is in; the error says why it cannot be
// used.
func lookAt(ctx context.Context, a *kit.App, store *setup.KeyStore) (storeState, error) {
	failed := a.Setup().Reach(ctx, store)
	state := storeState{KeyStoreJSON: store.JSON(), Works: failed == nil}
	if failed != nil {
		state.Problem = setup.Clean(failed.Error())
	}
	if names, err := store.List(ctx); err == nil {
		state.Keys = len(keysOfLLMs(names))
	}
	state.DefaultToken = whereToken(ctx, a, store)
	if store.File != nil {
		if s, err := store.File.State(); err == nil {
			state.Plain, state.Exposed = s.Plain, s.Exposed
		}
	}
	return state, failed
}

// The places of the default token's value that package token has no name for.
const (
	tokenNotKept = "not-kept"
	tokenNone    = "none"
)

// whereToken tells where the value of the default token is.
func whereToken(ctx context.Context, a *kit.App, store *setup.KeyStore) string {
	tokens, _, err := a.Setup().TokenStore(store.Settings)
	if err != nil {
		return tokenNone
	}
	place, err := tokens.WhereDefault(ctx)
	switch {
	case errors.Is(err, token.ErrNotFound):
		return tokenNone
	case err != nil:
		return tokenNotKept
	}
	return string(place)
}

// keysOfLLMs are the names of stored keys without that of the gateway's token and those
// of servers.
func keysOfLLMs(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		entry := secret.ParseEntry(name)
		return entry.Token != "" || entry.Server != ""
	})
}

func printStatus(a *kit.App, store *setup.KeyStore, state storeState, profiles []profileKey, base string) error {
	var t kit.Table
	t.Add("store", store.String())
	why := "chosen by " + store.Origin.String()
	if store.Origin.Kind == config.FromDefault {
		why = "it is the default"
	}
	t.Add("because", why)
	works := "yes"
	if !state.Works {
		works = "no: " + state.Problem
	}
	t.Add("works", works)
	t.Add("keys", strconv.Itoa(state.Keys))
	if store.File != nil {
		t.Add("not encrypted", strconv.Itoa(state.Plain))
	}
	t.Add("default token", map[string]string{
		string(token.InStore): "kept here", string(token.InFile): "in a private file in the state directory",
		tokenNotKept: "its value is not stored", tokenNone: tokenNone,
	}[state.DefaultToken])
	if state.Exposed {
		t.Add("warning", "other users can read the file: chmod 600 "+state.Path)
	}
	if err := t.WritePairs(a.Stdout); err != nil {
		return err
	}
	list := kit.Table{Header: []string{"", "PROFILE", "MODEL", "KEY"}}
	for _, p := range profiles {
		mark, name, from := "profile", p.Name, p.KeyFrom.String()
		if a.Stdout.TTY() {
			mark = ""
		}
		if p.Base != base {
			name += " (" + p.Base + ")"
		}
		if p.Note != "" {
			from += ": " + p.Note
		}
		list.Add(mark, name, p.Model, from)
	}
	return list.Write(a.Stdout)
}

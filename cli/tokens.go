package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/token"
)

func newTokens(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens COMMAND",
		Short: "Manage the keys that clients call with",
		Long: `Manages the tokens of the gateway: what an OpenAI client has as its API key.

A token may be limited to models and to a time. Only its hash is kept, so its
value is shown once; the token "default", which the first "ohgw serve" makes, is
the exception: its value is in the store of keys (see ohgw help keys), where the
commands of ohgw find it. A running daemon sees every change at its next
request.

The variable OHGW_API_KEYS replaces all of them for a daemon that has it.`,
		Example: examples("ohgw tokens create ide --model openhands_claude --expires 30d", "ohgw tokens list"),
		Args:    unknownCommand,
		RunE:    showHelp,
	}
	flags := addSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(newTokensCreate(a, flags), newTokensList(a), newTokensRevoke(a, flags), newTokensShow(a, flags))
	return cmd
}

// tokens opens the store of tokens that a daemon with this environment has.
func (a *app) tokens() (*token.Store, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	return token.NewStore(token.Config{Dir: dirs.State, Now: a.Now, Keys: token.SplitKeys(a.Getenv("OHGW_API_KEYS"))}), nil
}

// tokenStore opens the tokens with the store that keeps the value of the default
// one.
func (a *app) tokenStore(s *config.Settings) (*token.Store, *keyStore, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, nil, err
	}
	values, err := a.openKeyStore(s, a.patience())
	if err != nil {
		return nil, nil, err
	}
	return token.NewStore(token.Config{Dir: dirs.State, Now: a.Now, Values: values}), values, nil
}

// defaultToken is the value of the default token.
func (a *app) defaultToken(ctx context.Context) (secret.Value, error) {
	s, err := a.settings(nil)
	if err != nil {
		return secret.Value{}, err
	}
	store, _, err := a.tokenStore(s)
	if err != nil {
		return secret.Value{}, err
	}
	value, _, err := store.Default(ctx)
	return value, err
}

// storedTokens is tokenStore for commands that change what is stored: it says
// when that does not count.
func (a *app) storedTokens(flags settingFlags) (*token.Store, *keyStore, error) {
	s, err := a.settings(flags)
	if err != nil {
		return nil, nil, err
	}
	if len(token.SplitKeys(a.Getenv("OHGW_API_KEYS"))) > 0 {
		a.note("note: OHGW_API_KEYS is set; a daemon that has it takes those keys only")
	}
	return a.tokenStore(s)
}

// placeText says where the value of the default token is.
func (s *keyStore) placeText(p token.Place) string {
	if p == token.InOldFile {
		return "a file of an older ohgw"
	}
	return s.String()
}

// settleToken moves the value of the default token from where older releases
// kept it, and says so.
func (a *app) settleToken(ctx context.Context, store *token.Store, values *keyStore) {
	moved, err := store.Settle(ctx)
	switch {
	case moved:
		a.warnPlain(values)
		a.settle(values)
		a.note(`The value of the token "default" was in a file; it is in the %s now.`, values)
	case err != nil && ctx.Err() == nil:
		a.note(`warning: the value of the token "default" is in the clear in a file, as an older ohgw kept it, because %s`, notKeptText(ctx, err, values))
	}
}

// notKeptText is why a store does not keep the value of the default token.
func notKeptText(ctx context.Context, err error, values *keyStore) string {
	return clean(keyFault(ctx, err, values).Error())
}

// tokenJSON is a token in JSON. Models is null for a token without a limit.
type tokenJSON struct {
	Name    string     `json:"name"`
	ID      string     `json:"id"`
	Tail    string     `json:"tail"`
	Models  []string   `json:"models"`
	ChatBy  []string   `json:"chat_by,omitempty"`
	Created *time.Time `json:"created"`
	Expires *time.Time `json:"expires"`
	Expired bool       `json:"expired"`
}

func (a *app) tokenJSON(t token.Token) tokenJSON {
	return tokenJSON{
		Name: t.Name, ID: t.ID, Tail: t.Tail, Models: t.Models, ChatBy: t.ChatBy,
		Created: timeOrNull(t.Created), Expires: timeOrNull(t.Expires), Expired: t.Expired(a.Now()),
	}
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// completeTokens offers the names of the stored tokens.
func (a *app) completeTokens(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.tokenNames(), cobra.ShellCompDirectiveNoFileComp
}

// tokenNames are the names of the stored tokens, as far as they can be read.
func (a *app) tokenNames() []string {
	dirs, err := a.Paths()
	if err != nil {
		return nil
	}
	tokens, err := token.NewStore(token.Config{Dir: dirs.State, Now: a.Now}).List()
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(tokens))
	for _, t := range tokens {
		names = append(names, t.Name)
	}
	return names
}

// nameArg refuses a token's value where its name is wanted.
func nameArg(name string) error {
	if token.LooksLikeValue(name) {
		return usage("this is the value of a token, not its name", "names are listed by ohgw tokens list; revoke a token whose value others may have seen")
	}
	return nil
}

// tokenFault is err as a person should read it. name is the token it is about.
func (a *app) tokenFault(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, token.ErrNotFound):
		hint := "ohgw tokens list shows what there is"
		if near := suggest.Nearest(name, a.tokenNames()); near != "" {
			hint = "did you mean " + near + "?"
		} else if name == token.DefaultName {
			hint = "ohgw serve makes it the first time; ohgw tokens create default makes it again"
		}
		return fault.New(fmt.Sprintf("there is no token %q", name), hint, nil)
	case errors.Is(err, token.ErrExists):
		return &fault.Error{
			Msg:  fmt.Sprintf("there is a token %q already", name),
			Hint: "take another name, or revoke that one first: ohgw tokens revoke " + name,
			Code: fault.Conflict,
		}
	case errors.Is(err, token.ErrName):
		return usage(fmt.Sprintf("%q cannot be the name of a token", name), "use up to 64 letters, digits, dots, dashes and underscores")
	case errors.Is(err, token.ErrModel):
		return usage(err.Error(), "use ids as ohgw models lists them, such as openhands_claude")
	case errors.Is(err, token.ErrChatField):
		return usage(err.Error(), "use "+strings.Join(token.ChatFields(), " or "))
	case errors.Is(err, token.ErrNoValue):
		return &fault.Error{
			Msg:  "the value of the default token is not kept here any more",
			Hint: "make it anew: ohgw tokens revoke default --yes && ohgw tokens create default",
			Code: fault.Credential,
		}
	case errors.Is(err, token.ErrNewer):
		return fault.New("the tokens were written by a newer ohgw", "upgrade ohgw", err)
	case errors.Is(err, fs.ErrPermission):
		return &fault.Error{
			Msg:  "the tokens are not safe, or not yours to use",
			Hint: "give the files to yourself alone (chmod 600, directories 700), then make tokens anew that others may have read",
			Code: fault.Credential, Err: err,
		}
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{Msg: "another process changes the tokens: " + busy.Holder.String(), Hint: "try again when it is done", Code: fault.Conflict, Err: err}
	}
	return fault.New("the tokens cannot be used", "look at the file; without it, all tokens have to be made anew", err)
}

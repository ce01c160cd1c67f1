package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/token"
)

// Tokens opens the store of tokens that a daemon with this environment has.
func (env *Env) Tokens() (*token.Store, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	return token.NewStore(token.Config{Dir: dirs.State, Now: env.Now, Keys: token.SplitKeys(env.Getenv("OHGW_API_KEYS"))}), nil
}

// TokenStore opens the tokens with the store that keeps the value of the default
// one.
func (env *Env) TokenStore(s *config.Settings) (*token.Store, *KeyStore, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, nil, err
	}
	values, err := env.OpenKeyStore(s, env.KeyringPatience())
	if err != nil {
		return nil, nil, err
	}
	return token.NewStore(token.Config{Dir: dirs.State, Now: env.Now, Values: values}), values, nil
}

// DefaultToken is the value of the default token.
func (env *Env) DefaultToken(ctx context.Context) (secret.Value, error) {
	s, err := env.Settings(nil)
	if err != nil {
		return secret.Value{}, err
	}
	store, _, err := env.TokenStore(s)
	if err != nil {
		return secret.Value{}, err
	}
	value, _, err := store.Default(ctx)
	return value, err
}

// PlaceText says where the value of the default token is.
func (s *KeyStore) PlaceText(p token.Place) string {
	if p == token.InFile {
		return "private file in the state directory"
	}
	return s.String()
}

// TellKept says where the value of a default token is kept that was just made.
func (env *Env) TellKept(ctx context.Context, store *token.Store, made token.Made, values *KeyStore) {
	if made.WhyFile != nil {
		env.Note(`note: the value of the token "default" is in the private file %s (%s)`, store.ValueFile(), NotKeptText(ctx, made.WhyFile, values))
		return
	}
	env.WarnCleartext(values)
	env.RememberStore(values)
	env.Detail("the value is in the %s", values)
}

// NotKeptText is why a store does not keep the value of the default token.
func NotKeptText(ctx context.Context, err error, values *KeyStore) string {
	return Clean(KeyFault(ctx, err, values).Error())
}

// Spending opens what the tokens of this user have spent.
func (env *Env) Spending() (*budget.Ledger, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	return budget.NewLedger(dirs.State, env.Now), nil
}

// TokenNames lists the names of the stored tokens, as far as they can be read.
func (env *Env) TokenNames() []string {
	dirs, err := env.Paths()
	if err != nil {
		return nil
	}
	tokens, err := token.NewStore(token.Config{Dir: dirs.State, Now: env.Now}).List()
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(tokens))
	for _, t := range tokens {
		names = append(names, t.Name)
	}
	return names
}

// limitHint says how a limit or a right of a token is written; empty: err is not
// about one.
func limitHint(err error) string {
	switch {
	case errors.Is(err, token.ErrModel):
		return "use the ids that ohgw models lists, such as openhands_claude"
	case errors.Is(err, token.ErrConfirm):
		return "use " + strings.Join(token.Confirms(), ", ")
	case errors.Is(err, token.ErrNative):
		return "leave out --native, or --model, --confirm, --budget and --tokens"
	case errors.Is(err, token.ErrAll):
		return "leave out --model or --all-conversations"
	case errors.Is(err, token.ErrChatField):
		return "use " + strings.Join(token.ChatFields(), " or ")
	}
	return ""
}

// TokenFault explains err to a person, with the next step. name is the token it is
// about.
func (env *Env) TokenFault(err error, name string) error {
	if hint := limitHint(err); hint != "" {
		return fault.NewUsage(err.Error(), hint)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, token.ErrNotFound):
		hint := "ohgw tokens list shows the tokens"
		if near := suggest.Nearest(name, env.TokenNames()); near != "" {
			hint = "did you mean " + near + "?"
		} else if name == token.DefaultName {
			hint = "create it: ohgw tokens create default"
		}
		return fault.New(fmt.Sprintf("there is no token %q", name), hint, nil)
	case errors.Is(err, token.ErrExists):
		return &fault.Error{
			Msg:  fmt.Sprintf("there is a token %q already", name),
			Hint: "choose another name, or revoke the token first: ohgw tokens revoke " + name + " --yes",
			Code: fault.Conflict,
		}
	case errors.Is(err, token.ErrName):
		return fault.NewUsage(fmt.Sprintf("%q is not a valid token name", name), "use up to 64 letters, digits, dots, dashes and underscores")
	case errors.Is(err, token.ErrNoValue):
		return &fault.Error{
			Msg:  "the value of the default token is no longer stored here",
			Hint: "create it again: " + renewDefault,
			Code: fault.Credential,
		}
	case errors.Is(err, token.ErrNewer):
		return fault.New("the tokens were written by a newer ohgw", "upgrade ohgw", err)
	case errors.Is(err, fs.ErrPermission):
		return env.privateFault(err)
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{Msg: "another process is changing the tokens: " + busy.Holder.String(), Hint: "try again when it is done", Code: fault.Conflict, Err: err}
	}
	return fault.New("the tokens cannot be used", "repair the file; without it, every token has to be created again", err)
}

// renewDefault replaces the default token.
const renewDefault = "ohgw tokens revoke default --yes && ohgw tokens create default"

// privateFault returns the error for files of tokens that this user cannot read, or
// that others can.
func (env *Env) privateFault(err error) error {
	f := &fault.Error{Msg: "the tokens cannot be read", Code: fault.Credential, Err: err}
	if dirs, dirErr := env.Dirs(); dirErr == nil {
		dir := shellword.Of(dirs.State)
		f.Hint = "make the directory yours: sudo chown -R $USER " + dir + " && chmod -R u+rwX,go= " + dir
	}
	if unsafe, ok := errors.AsType[*keyfile.UnsafeError](err); ok {
		f.Msg = "the value of the default token is in a file that is not private"
		f.Hint = "replace the token: " + renewDefault
		if unsafe.Owned {
			f.Hint = "make it private: chmod 600 " + shellword.Of(unsafe.Path) + "; if others may have read it, replace the token: " + renewDefault
		}
	}
	return f
}

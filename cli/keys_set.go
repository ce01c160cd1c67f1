package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
)

type keysSetInput struct {
	*keysInput

	Name    string
	Field   string
	File    string
	Replace bool
}

func newKeysSet(a *app, shared *keysInput) *cobra.Command {
	in := keysSetInput{keysInput: shared}
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Store the key of a profile or of a provider",
		Long: long(`
Stores a key for a profile, or for all profiles of a provider: provider:openai.
The key is typed at a prompt that does not show it, else read from stdin or from
a file; it is never an argument. A key that is stored already stays, unless
--replace is given. A running daemon uses the key from the next conversation on.

--key-store file, where the settings do not say so, is a choice for good: the
config file gets the line key_store = "file".`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example:           examples("ohgw keys set work", "ohgw keys set provider:openai --file key.txt"),
		Args:              keyArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.keysSet(cmd.Context(), in)
		},
	}
	cmd.Flags().StringVar(&in.File, "file", "", "read the key from this `file`; - is stdin")
	cmd.Flags().BoolVar(&in.Replace, "replace", false, "take the place of a key that is stored already")
	addField(cmd, &in.Field)
	return cmd
}

func (a *app) keysSet(ctx context.Context, in keysSetInput) error {
	if err := checkField(in.Field); err != nil {
		return err
	}
	profiles, err := a.profileStore(&in.profilesInput)
	if err != nil {
		return err
	}
	entry, err := keyEntry(profiles, in.Name, in.Field)
	if err != nil {
		return err
	}
	if err := a.knownEntry(entry); err != nil {
		return err
	}
	store, err := a.keyStore(in.flags)
	if err != nil {
		return err
	}
	if err := a.reach(ctx, store); err != nil {
		return err
	}
	key, err := a.readKey(ctx, "Key for "+describeEntry(entry), in.File)
	if err != nil {
		return err
	}
	action, err := a.keepKey(ctx, store, entry, key, in.Replace)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			secret.Entry

			Action string       `json:"action"`
			Store  keyStoreJSON `json:"store"`
		}{entry, action, store.json()})
	}
	a.sayKept(store, entry, key, action)
	return nil
}

// The outcomes of storing a key.
const (
	keyStored   = "stored"
	keyReplaced = "replaced"
	keyAlready  = "already"
)

// keepKey stores a key and makes sure that it is there.
func (a *app) keepKey(ctx context.Context, store *keyStore, entry secret.Entry, key secret.Value, replace bool) (action string, err error) {
	old, err := store.Get(ctx, entry.Name)
	switch {
	case err == nil && old.Equal(key):
		a.settle(store)
		return keyAlready, nil
	case err == nil && !replace:
		return "", &fault.Error{
			Msg:  fmt.Sprintf("there is another key for %s already", describeEntry(entry)),
			Hint: "give --replace to put this one in its place", Code: fault.Conflict,
		}
	case err == nil:
		action = keyReplaced
	case errors.Is(err, secret.ErrNotFound), replace:
		action = keyStored // Replacing also mends what cannot be read.
	default:
		return "", keyFault(ctx, err, store)
	}
	a.warnPlain(store)
	if err := store.Set(ctx, entry.Name, key); err != nil {
		return "", keyFault(ctx, err, store)
	}
	if back, err := store.Get(ctx, entry.Name); err != nil || !back.Equal(key) {
		return "", keyFault(ctx, errors.Join(errors.New("what is stored is not what was given"), err), store)
	}
	a.settle(store)
	return action, nil
}

// sayKept says to a person that a key is stored.
func (a *app) sayKept(store *keyStore, entry secret.Entry, key secret.Value, action string) {
	if action == keyAlready {
		a.note("That key for %s is in the %s already.", describeEntry(entry), store)
		return
	}
	a.note("The key%s for %s is in the %s.", tail(key), describeEntry(entry), store)
}

// tail shows the end of a key, by which people know it.
func tail(key secret.Value) string {
	if t := key.Tail(); t != "" {
		return " …" + t
	}
	return ""
}

// readKey takes a key from a file, else from a person, else from stdin.
func (a *app) readKey(ctx context.Context, question, file string) (secret.Value, error) {
	var key secret.Value
	var err error
	switch {
	case file != "" && file != "-":
		key, err = readKeyFile(file)
	case !a.StdinTTY || file == "-":
		key, err = secret.Read(a.Stdin)
	default:
		key, err = a.askKey(ctx, question)
	}
	return key, inputFault(err)
}

func readKeyFile(path string) (key secret.Value, err error) {
	f, err := os.Open(path)
	if err != nil {
		return secret.Value{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return secret.Read(io.Reader(f))
}

// inputFault says what is wrong with something that was given as a key.
func inputFault(err error) error {
	switch {
	case err == nil, fault.CodeOf(err) == fault.Usage:
		return err
	case errors.Is(err, secret.ErrEmpty):
		return usage("the key is empty", "give it at the prompt, on stdin or with --file")
	case errors.Is(err, secret.ErrNotOneKey), errors.Is(err, secret.ErrTooBig):
		return usage("this is not one key: "+err.Error(), "give one key, alone in its file")
	case errors.Is(err, secret.ErrMasked), errors.Is(err, secret.ErrEncrypted):
		return usage("this is no key: "+err.Error(), "copy the key from the provider; ohgw keys import takes those of profiles")
	}
	return fault.New("the key cannot be read", "look whether the file is there and readable", err)
}

package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
)

type keysSetInput struct {
	*keysInput

	Name    string
	Field   string
	File    string
	Replace bool
}

func newKeysSet(a *App, shared *keysInput) *cobra.Command {
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

func (a *App) keysSet(ctx context.Context, in keysSetInput) error {
	if err := checkField(in.Field); err != nil {
		return err
	}
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
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
	if err := a.Setup().Reach(ctx, store); err != nil {
		return err
	}
	key, err := a.readKey(ctx, "Key for "+setup.DescribeEntry(entry), in.File)
	if err != nil {
		return err
	}
	action, err := a.Setup().KeepKey(ctx, store, entry, key, in.Replace)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			secret.Entry

			Action string             `json:"action"`
			Store  setup.KeyStoreJSON `json:"store"`
		}{entry, action, store.JSON()})
	}
	a.sayKept(store, entry, key, action)
	return nil
}

// sayKept says to a person that a key is stored.
func (a *App) sayKept(store *setup.KeyStore, entry secret.Entry, key secret.Value, action string) {
	if action == setup.KeyAlready {
		a.Note("That key for %s is in the %s already.", setup.DescribeEntry(entry), store)
		return
	}
	a.Note("The key%s for %s is in the %s.", tail(key), setup.DescribeEntry(entry), store)
}

// tail shows the end of a key, by which people know it.
func tail(key secret.Value) string {
	if t := key.Tail(); t != "" {
		return " …" + t
	}
	return ""
}

// readKey takes a key from a file, else from a person, else from stdin.
func (a *App) readKey(ctx context.Context, question, file string) (secret.Value, error) {
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
		return fault.NewUsage("the key is empty", "give it at the prompt, on stdin or with --file")
	case errors.Is(err, secret.ErrNotOneKey), errors.Is(err, secret.ErrTooBig):
		return fault.NewUsage("this is not one key: "+err.Error(), "give one key, alone in its file")
	case errors.Is(err, secret.ErrMasked), errors.Is(err, secret.ErrEncrypted):
		return fault.NewUsage("this is no key: "+err.Error(), "copy the key from the provider; ohgw keys import takes those of profiles")
	}
	return fault.New("the key cannot be read", "look whether the file is there and readable", err)
}

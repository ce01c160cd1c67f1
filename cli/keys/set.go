package keys

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// setOptions is what the command takes.
type setOptions struct {
	*options

	Name    string
	Field   string
	File    string
	Replace bool
}

func newSet(shared *options) *cobra.Command {
	opts := setOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Store the key of a profile or of a provider",
		Long: kit.Long(`
Stores a key for a profile, or for all profiles of a provider (provider:openai).
The key is typed at a hidden prompt, or read from stdin or a file. It is never
an argument. A key that is stored already is kept unless --replace is given. A
running daemon uses the new key from the next conversation on.

--key-store file, if the settings do not have it, is a permanent choice: the
line key_store = "file" is added to the config file.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example:           kit.Examples("ohgw keys set work", "ohgw keys set provider:openai --file key.txt"),
		Args:              keyArgs(1),
		ValidArgsFunction: completeKeys(shared.App),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runSet(cmd.Context(), &opts)
		},
	}
	cmd.Flags().StringVar(&opts.File, "file", "", "read the key from this `file`; - is stdin")
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "overwrite a key that is stored already")
	addField(cmd, &opts.Field)
	return cmd
}

// runSet runs the command.
func runSet(ctx context.Context, o *setOptions) error {
	entry, err := keyEntry(o.App, o.Name, o.Field)
	if err != nil {
		return err
	}
	if err := knownEntry(o.App, entry); err != nil {
		return err
	}
	store, err := o.KeyStore(o.flags)
	if err != nil {
		return err
	}
	if err := o.Setup().Reach(ctx, store); err != nil {
		return err
	}
	key, err := readKey(ctx, o.App, "Key for "+setup.DescribeEntry(entry), o.File)
	if err != nil {
		return err
	}
	action, err := o.Setup().KeepKey(ctx, store, entry, key, o.Replace)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(struct {
			secret.Entry

			Action string             `json:"action"`
			Store  setup.KeyStoreJSON `json:"store"`
		}{entry, action, store.JSON()})
	}
	o.SayKept(store, entry, key, action)
	return nil
}

// readKey takes a key from a file, else from a person, else from stdin.
func readKey(ctx context.Context, a *kit.App, question, file string) (secret.Value, error) {
	var key secret.Value
	var err error
	switch {
	case file != "" && file != "-":
		key, err = readKeyFile(file)
	case !a.StdinTTY || file == "-":
		key, err = secret.Read(a.Stdin)
	default:
		key, err = a.AskKey(ctx, question)
	}
	return key, kit.InputFault(err)
}

func readKeyFile(path string) (key secret.Value, err error) {
	f, err := os.Open(path)
	if err != nil {
		return secret.Value{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return secret.Read(io.Reader(f))
}

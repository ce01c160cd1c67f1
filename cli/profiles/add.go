package profiles

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/guide"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// addOptions is what the command takes.
type addOptions struct {
	*options

	Name         string
	Provider     string
	Model        string
	BaseURL      string
	FromFile     string
	FromSettings bool // of OpenHands
	KeyFrom      string
	NoCheck      bool
	Use          bool
	Replace      bool
}

func newAdd(shared *options) *cobra.Command {
	opts := addOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "add [NAME]",
		Short: "Add a profile, with its key in the keyring",
		Long: kit.Long(`
Adds an LLM profile to OpenHands' profiles. On a terminal, the command looks for
LLMs on this machine and keys in the environment, and asks for what the flags do
not give: provider, key and model. It asks the provider for its models, and
sends the model one short question before it stores anything. The first profile
becomes the active one.

Without a terminal, flags give everything. The key is read from a pipe, or from
the place that --key-from names; it is never an argument. If the model does not
answer, nothing is added; --no-check adds the profile without asking the model.

--from-file reads a profile in OpenHands' format; - is stdin. --from-settings
uses the LLM of OpenHands' settings. Settings in the format of OpenHands 0.x,
which newer versions drop, are also copied to a backup.

The key goes into the key store (see ohgw help keys), not into the profile. That
includes a cleartext key in the file; an encrypted key stays in the profile.`,
			0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw profiles add work", "ohgw profiles add work --provider anthropic --model claude-sonnet-4-5 --key-from env:MY_KEY",
			"ohgw profiles add copy --from-file work.json"),
		Args:              kit.AtMostOneName("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return runAdd(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Provider, "provider", "", "the `provider` of the model, such as anthropic")
	f.StringVar(&opts.Model, "model", "", "the `model`, such as anthropic/claude-sonnet-4-5")
	f.StringVar(&opts.BaseURL, "base-url", "", "`URL` of the model; without it, that of its provider")
	f.StringVar(&opts.KeyFrom, "key-from", "", "read the key from this `place`: env:VARIABLE, stdin or a file")
	f.BoolVar(&opts.NoCheck, "no-check", false, "do not ask the model")
	f.BoolVar(&opts.Use, "use", false, "make it the active profile")
	f.StringVar(&opts.FromFile, "from-file", "", "read the profile from this `file`; - is stdin")
	f.BoolVar(&opts.FromSettings, "from-settings", false, "use the LLM of OpenHands' settings")
	f.BoolVar(&opts.Replace, "replace", false, "overwrite a profile of that name and its stored key, which is for its old host only")
	kit.Complete(cmd, "provider", setup.ProviderPrefixes()...)
	kit.Complete(cmd, "key-from", "env:", "stdin")
	kit.Complete(cmd, "model", knownModels()...)
	kit.Complete(cmd, "base-url")
	return cmd
}

// runAdd runs the command.
func runAdd(ctx context.Context, o *addOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.FromFile != "" || o.FromSettings {
		return addDraft(ctx, o)
	}
	out, err := guide.Run(ctx, &guide.Options{
		App: o.App, KeyFlags: o.flags, LockTimeout: o.LockTimeout, Name: o.Name, Provider: o.Provider, Model: o.Model, BaseURL: o.BaseURL,
		KeyFrom: o.KeyFrom, NoCheck: o.NoCheck, Use: o.Use, Replace: o.Replace,
	})
	if err != nil {
		return err
	}
	return tellAdded(o, out, "")
}

// addDraft adds a profile that is written already.
func addDraft(ctx context.Context, o *addOptions) error {
	profiles, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	if names, err := profiles.Names(); err == nil && !o.Replace && slices.Contains(names, o.Name) {
		return o.Setup().ProfileFault(ctx, profile.ErrExists, o.Name)
	}
	draft, err := draft(ctx, o)
	if err != nil {
		return err
	}
	keys, err := o.KeyStore(o.flags)
	if err == nil && len(draft.Keys) > 0 {
		err = guide.StoreFault(o.Setup().Reach(ctx, keys), "") // before there is a profile without its key
	}
	if err != nil {
		return err
	}
	first := firstrun.New(o.Setup(), profiles, keys, modelcheck.DefaultTimeout)
	if made, err := profiles.Preview(o.Name, draft); err == nil && made.LLM.APIKey.IsZero() {
		if err := first.Elsewhere(ctx, made); err != nil {
			return err
		}
	}
	backup, err := backUpSettings(o.App, profiles, draft)
	if err != nil {
		return err
	}
	out := guide.Outcome{Name: o.Name, Store: keys}
	out.Saved, err = first.Save(ctx, o.Name, draft, firstrun.SaveOptions{Replace: o.Replace, Use: o.Use})
	if err != nil {
		return guide.SaveFault(ctx, o.App, out, err)
	}
	return tellAdded(o, out, backup)
}

// tellAdded says what was added.
func tellAdded(o *addOptions, out guide.Outcome, backup string) error {
	if !o.JSON {
		out.Tell(o.App)
		if out.Active {
			o.Hint("Next: ohgw chat")
		} else {
			o.Hint("Activate it with: ohgw profiles use %s", out.Name)
		}
		return nil
	}
	profiles, err := o.Setup().ProfileStore(0)
	if err != nil {
		return err
	}
	action := ""
	for _, k := range out.Keys {
		if k.Entry.Field == secret.APIKey {
			action = k.Action
		}
	}
	return o.PrintJSON(struct {
		Name   string             `json:"name"`
		Base   string             `json:"base"`
		Active bool               `json:"active"`
		Key    string             `json:"key"`
		Store  setup.KeyStoreJSON `json:"store"`
		Backup string             `json:"backup,omitempty"`
	}{out.Name, profiles.Base(), out.Active, action, out.Store.JSON(), backup})
}

// backUpSettings copies settings that a newer OpenHands forgets.
func backUpSettings(a *kit.App, profiles *profile.Store, draft profile.Draft) (path string, err error) {
	if !draft.Legacy {
		return "", nil
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dirs.State, "backups", a.Now().UTC().Format("20060102T150405.000000000Z")+"-settings.json")
	if err := profiles.BackUpSettings(path); err != nil {
		return "", fault.New("the settings could not be backed up", "look at "+filepath.Dir(path), err)
	}
	a.Note("Backup of the settings: %s", path)
	return path, nil
}

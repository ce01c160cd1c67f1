package profiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
)

// addOptions is what the command takes.
type addOptions struct {
	*options

	Name         string
	Model        string
	BaseURL      string
	FromFile     string
	FromSettings bool // of OpenHands
	Replace      bool
}

func newAdd(shared *options) *cobra.Command {
	opts := addOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a profile, with its key in the keyring",
		Long: kit.Long(`
Adds an LLM profile to OpenHands' profiles. On a terminal, the command asks for
what the flags do not give: provider, model, base URL and key. --from-file reads
a profile in OpenHands' format; - is stdin. --from-settings uses the LLM of
OpenHands' settings. Settings in the format of OpenHands 0.x, which newer
versions drop, are also copied to a backup.

The key goes into the key store (see ohgw help keys), not into the profile. That
includes a cleartext key in the file; an encrypted key stays in the profile.
Without a terminal, store the key afterwards with: ohgw keys set NAME`,
			0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Conflict),
		Example: kit.Examples("ohgw profiles add work", "ohgw profiles add work --model anthropic/claude-sonnet-4-5",
			"ohgw profiles add copy --from-file work.json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runAdd(cmd.Context(), &opts)
		},
	}
	cmd.Flags().StringVar(&opts.Model, "model", "", "the `model`, such as anthropic/claude-sonnet-4-5")
	cmd.Flags().StringVar(&opts.BaseURL, "base-url", "", "`URL` of the model; without it, that of its provider")
	cmd.Flags().StringVar(&opts.FromFile, "from-file", "", "read the profile from this `file`; - is stdin")
	cmd.Flags().BoolVar(&opts.FromSettings, "from-settings", false, "use the LLM of OpenHands' settings")
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "overwrite a profile of that name and its stored key")
	kit.Complete(cmd, "model", knownModels()...)
	kit.Complete(cmd, "base-url")
	return cmd
}

// runAdd runs the command.
func runAdd(ctx context.Context, o *addOptions) error {
	profiles, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	if names, err := profiles.Names(); err == nil && !o.Replace && slices.Contains(names, o.Name) {
		return o.Setup().ProfileFault(ctx, profile.ErrExists, o.Name) // before anybody is asked anything
	}
	draft, err := draft(ctx, o)
	if err != nil {
		return err
	}
	keys, err := o.KeyStore(o.flags)
	if err == nil && len(draft.Keys) > 0 {
		err = o.Setup().Reach(ctx, keys) // before there is a profile without its key
	}
	if err != nil {
		return err
	}
	backup, err := backUpSettings(o.App, profiles, draft)
	if err != nil {
		return err
	}
	if err := profiles.Add(ctx, o.Name, draft, profile.AddOptions{Replace: o.Replace}); err != nil {
		return addFault(ctx, o.App, err, o.Name)
	}
	if !o.JSON {
		o.Note("The profile %q was added.", o.Name)
	}
	action, err := keepKeys(ctx, o, keys, profiles.Base(), draft)
	if err != nil {
		return keysLeft(ctx, err, nil, fmt.Sprintf("the profile %q was added, but its key was not stored", o.Name), "ohgw keys set "+o.Name)
	}
	if o.JSON {
		return o.PrintJSON(struct {
			Name   string             `json:"name"`
			Base   string             `json:"base"`
			Key    string             `json:"key"`
			Store  setup.KeyStoreJSON `json:"store"`
			Backup string             `json:"backup,omitempty"`
		}{o.Name, profiles.Base(), action, keys.JSON(), backup})
	}
	o.Hint("Activate it with: ohgw profiles use %s", o.Name)
	return nil
}

// keepKeys stores the keys of a draft. The action is that for its API key.
func keepKeys(ctx context.Context, o *addOptions, keys *setup.KeyStore, base string, draft profile.Draft) (action string, err error) {
	for _, field := range slices.Sorted(maps.Keys(draft.Keys)) {
		entry := secret.ParseEntry(secret.ProfileEntry(base, o.Name, field))
		did, err := o.Setup().KeepKey(ctx, keys, entry, draft.Keys[field], o.Replace)
		if err != nil {
			return action, err
		}
		if field == secret.APIKey {
			action = did
		}
		if !o.JSON {
			o.SayKept(keys, entry, draft.Keys[field], did)
		}
	}
	return action, nil
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

// addFault says why a profile was not added.
func addFault(ctx context.Context, a *kit.App, err error, name string) error {
	if e, ok := errors.AsType[*profile.EntryError](err); ok {
		return fault.NewUsage("OpenHands does not accept this profile: "+e.Error(), "correct the model or the base URL")
	}
	if e, ok := errors.AsType[*profile.FieldError](err); ok {
		return fault.NewUsage("OpenHands does not accept this profile: the value of "+e.Field+" is not valid", "correct or remove it")
	}
	return a.Setup().ProfileFault(ctx, err, name)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
)

type profilesAddInput struct {
	*profilesInput

	Name     string
	Model    string
	BaseURL  string
	FromFile string
	Settings bool // of OpenHands
	Replace  bool
}

func newProfilesAdd(a *App, shared *profilesInput) *cobra.Command {
	in := profilesAddInput{profilesInput: shared}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a profile, with its key in the keyring",
		Long: long(`
Adds an LLM profile to those of OpenHands. On a terminal it asks for what no
flag says: provider, model, base URL and key. --from-file takes a profile as
OpenHands writes it, and - reads it from stdin. --from-settings takes the LLM of
OpenHands' settings; those of the first OpenHands, which a newer one forgets,
are copied to a backup as well.

The key goes into the store of keys (see ohgw help keys), not into the profile,
a key in clear in the file as well; an encrypted one stays as it is. Without a
terminal, ohgw keys set NAME stores one afterwards.`,
			0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Conflict),
		Example: examples("ohgw profiles add work", "ohgw profiles add work --model anthropic/claude-sonnet-4-5",
			"ohgw profiles add copy --from-file work.json"),
		Args:              exactly("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.profilesAdd(cmd.Context(), in)
		},
	}
	cmd.Flags().StringVar(&in.Model, "model", "", "the `model`, such as anthropic/claude-sonnet-4-5")
	cmd.Flags().StringVar(&in.BaseURL, "base-url", "", "`URL` of the model; without it, that of its provider")
	cmd.Flags().StringVar(&in.FromFile, "from-file", "", "take the profile from this `file`; - is stdin")
	cmd.Flags().BoolVar(&in.Settings, "from-settings", false, "take the LLM of OpenHands' settings")
	cmd.Flags().BoolVar(&in.Replace, "replace", false, "take the place of a profile of that name, and of its stored key")
	complete(cmd, "model", knownModels()...)
	complete(cmd, "base-url")
	return cmd
}

// knownModels are the models that OpenHands serves itself, and the beginnings
// of all others.
func knownModels() []string {
	var models []string
	for _, name := range canon.Embedded().Current() {
		models = append(models, canon.OpenHands+name)
	}
	for _, p := range setup.ProviderPrefixes() {
		if p+"/" != canon.OpenHands {
			models = append(models, p+"/")
		}
	}
	return models
}

func (a *App) profilesAdd(ctx context.Context, in profilesAddInput) error {
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	if names, err := profiles.Names(); err == nil && !in.Replace && slices.Contains(names, in.Name) {
		return a.Setup().ProfileFault(ctx, profile.ErrExists, in.Name) // before anybody is asked anything
	}
	draft, err := a.draft(ctx, in)
	if err != nil {
		return err
	}
	keys, err := a.keyStore(in.flags)
	if err == nil && len(draft.Keys) > 0 {
		err = a.Setup().Reach(ctx, keys) // before there is a profile without its key
	}
	if err != nil {
		return err
	}
	backup, err := a.backUpSettings(profiles, draft)
	if err != nil {
		return err
	}
	if err := profiles.Add(ctx, in.Name, draft, profile.AddOptions{Replace: in.Replace}); err != nil {
		return a.addFault(ctx, err, in.Name)
	}
	if !a.json {
		a.Note("The profile %q is added.", in.Name)
	}
	action, err := a.keepKeys(ctx, keys, profiles.Base(), in, draft)
	if err != nil {
		return keysLeft(ctx, err, nil, fmt.Sprintf("the profile %q is added, its key is not stored", in.Name), "ohgw keys set "+in.Name)
	}
	if a.json {
		return a.printJSON(struct {
			Name   string             `json:"name"`
			Base   string             `json:"base"`
			Key    string             `json:"key"`
			Store  setup.KeyStoreJSON `json:"store"`
			Backup string             `json:"backup,omitempty"`
		}{in.Name, profiles.Base(), action, keys.JSON(), backup})
	}
	a.hint("Make it the active one with: ohgw profiles use %s", in.Name)
	return nil
}

// keepKeys stores the keys of a draft. The action is that for its API key.
func (a *App) keepKeys(ctx context.Context, keys *setup.KeyStore, base string, in profilesAddInput, draft profile.Draft) (action string, err error) {
	for _, field := range slices.Sorted(maps.Keys(draft.Keys)) {
		entry := secret.ParseEntry(secret.ProfileEntry(base, in.Name, field))
		did, err := a.Setup().KeepKey(ctx, keys, entry, draft.Keys[field], in.Replace)
		if err != nil {
			return action, err
		}
		if field == secret.APIKey {
			action = did
		}
		if !a.json {
			a.sayKept(keys, entry, draft.Keys[field], did)
		}
	}
	return action, nil
}

// backUpSettings copies settings that a newer OpenHands forgets.
func (a *App) backUpSettings(profiles *profile.Store, draft profile.Draft) (path string, err error) {
	if !draft.Legacy {
		return "", nil
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dirs.State, "backups", a.Now().UTC().Format("20060102T150405.000000000Z")+"-settings.json")
	if err := profiles.BackUpSettings(path); err != nil {
		return "", fault.New("the settings cannot be copied to a backup", "look at "+filepath.Dir(path), err)
	}
	a.Note("The settings as they are: %s", path)
	return path, nil
}

// addFault says why a profile was not added.
func (a *App) addFault(ctx context.Context, err error, name string) error {
	if e, ok := errors.AsType[*profile.EntryError](err); ok {
		return fault.NewUsage("OpenHands would not take this profile: "+e.Error(), "correct the model or the base URL")
	}
	if e, ok := errors.AsType[*profile.FieldError](err); ok {
		return fault.NewUsage("OpenHands would not take this profile: the value of "+e.Field+" is none for it", "correct it, or leave it out")
	}
	return a.Setup().ProfileFault(ctx, err, name)
}

// draft is the profile that the flags, a file or a person describe.
func (a *App) draft(ctx context.Context, in profilesAddInput) (profile.Draft, error) {
	switch {
	case in.FromFile != "" && (in.Model != "" || in.BaseURL != ""):
		return profile.Draft{}, fault.NewUsage("--from-file contradicts --model and --base-url", "use one or the other")
	case in.Settings && (in.FromFile != "" || in.Model != "" || in.BaseURL != ""):
		return profile.Draft{}, fault.NewUsage("--from-settings contradicts --from-file, --model and --base-url", "use one or the other")
	case in.FromFile != "":
		return a.draftFrom(in.FromFile)
	case in.Settings:
		return a.draftOfSettings(ctx, in)
	case !a.CanAsk() && in.Model == "":
		return profile.Draft{}, fault.NewUsage("the model is missing, and nobody can be asked", "pass --model or --from-file")
	case !a.CanAsk():
		return profile.NewDraft(in.Model, in.BaseURL), nil
	}
	asked := in.Model == ""
	if asked {
		model, err := a.askModel(ctx)
		if err != nil {
			return profile.Draft{}, err
		}
		in.Model = model
	}
	if asked && in.BaseURL == "" {
		url, err := a.ask(ctx, "Base URL (empty for the provider's own): ")
		if err != nil {
			return profile.Draft{}, err
		}
		in.BaseURL = url
	}
	draft := profile.NewDraft(in.Model, in.BaseURL)
	key, err := a.askKey(ctx, "Key, empty for none")
	if err != nil && !errors.Is(err, secret.ErrEmpty) {
		return profile.Draft{}, inputFault(err)
	}
	if !key.IsZero() {
		draft.Keys[secret.APIKey] = key
	}
	return draft, nil
}

// draftOfSettings is the LLM of OpenHands' settings.
func (a *App) draftOfSettings(ctx context.Context, in profilesAddInput) (profile.Draft, error) {
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return profile.Draft{}, err
	}
	draft, err := profiles.SettingsDraft()
	switch {
	case err == nil || ctx.Err() != nil:
		return draft, err
	case errors.Is(err, profile.ErrNotFound):
		return profile.Draft{}, fault.New("there is no LLM in OpenHands' settings", "pass --model or --from-file", nil)
	}
	return profile.Draft{}, fault.New("OpenHands' settings cannot be read", "ohgw profiles check says what is wrong with them", err)
}

// maxDraft bounds the file of a profile.
const maxDraft = 1 << 20

func (a *App) draftFrom(file string) (draft profile.Draft, err error) {
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return profile.Draft{}, fault.New("the profile cannot be read", "look whether the file is there and readable", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, maxDraft))
	if err != nil {
		return profile.Draft{}, fault.New("the profile cannot be read", "look at the file", err)
	}
	if draft, err = profile.ParseDraft(src); err != nil {
		return profile.Draft{}, fault.New("this is no profile", "give one JSON object, as in a file of OpenHands", err)
	}
	return draft, nil
}

// askModel asks for a provider and one of its models. The beginning of a name
// is enough where it is that of one only.
func (a *App) askModel(ctx context.Context) (string, error) {
	provider, err := a.choose(ctx, "Provider", setup.ProviderPrefixes())
	if err != nil {
		return "", err
	}
	var models []string
	if provider+"/" == canon.OpenHands {
		models = canon.Embedded().Current()
	}
	model, err := a.choose(ctx, "Model of "+provider, models)
	return provider + "/" + strings.TrimPrefix(model, provider+"/"), err
}

// choose asks until there is an answer: one of the known names, the beginning of
// one, or any other name.
func (a *App) choose(ctx context.Context, question string, known []string) (string, error) {
	if len(known) > 0 {
		fmt.Fprintln(a.Stderr, strings.Join(wrap(strings.Join(known, " "), a.Stderr.Width()), "\n"))
	}
	for {
		answer, err := a.ask(ctx, question+": ")
		if err != nil {
			return "", err
		}
		var begin []string
		for _, name := range known {
			if strings.HasPrefix(name, answer) {
				begin = append(begin, name)
			}
		}
		switch {
		case answer == "":
		case len(begin) == 1:
			return begin[0], nil
		case slices.Contains(begin, answer), len(begin) == 0:
			return answer, nil
		default:
			fmt.Fprintln(a.Stderr, strings.Join(begin, " "))
		}
	}
}

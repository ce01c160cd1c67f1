package profiles

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// check refuses flags that contradict each other.
func (o *addOptions) check() error {
	described := o.Model != "" || o.BaseURL != ""
	switch {
	case o.FromFile != "" && described:
		return fault.NewUsage("--from-file cannot be used with --model or --base-url", "use one or the other")
	case o.FromSettings && (o.FromFile != "" || described):
		return fault.NewUsage("--from-settings cannot be used with --from-file, --model or --base-url", "use one or the other")
	}
	return nil
}

// draft is the profile that the flags, a file or a person describe.
func draft(ctx context.Context, o *addOptions) (profile.Draft, error) {
	if err := o.check(); err != nil {
		return profile.Draft{}, err
	}
	switch {
	case o.FromFile != "":
		return draftFrom(o.App, o.FromFile)
	case o.FromSettings:
		return draftOfSettings(ctx, o)
	case !o.CanAsk() && o.Model == "":
		return profile.Draft{}, fault.NewUsage("the model is missing, and there is no terminal to ask on", "pass --model or --from-file")
	case !o.CanAsk():
		return profile.NewDraft(o.Model, o.BaseURL), nil
	}
	return askDraft(ctx, o)
}

// askDraft asks a person for what no flag says.
func askDraft(ctx context.Context, o *addOptions) (profile.Draft, error) {
	model, base := o.Model, o.BaseURL
	if model == "" {
		var err error
		if model, err = askModel(ctx, o.App); err != nil {
			return profile.Draft{}, err
		}
		if base == "" {
			if base, err = o.Ask(ctx, "Base URL (empty for the provider's own): "); err != nil {
				return profile.Draft{}, err
			}
		}
	}
	draft := profile.NewDraft(model, base)
	key, err := o.AskKey(ctx, "Key, empty for none")
	if err != nil && !errors.Is(err, secret.ErrEmpty) {
		return profile.Draft{}, kit.InputFault(err)
	}
	if !key.IsZero() {
		draft.Keys[secret.APIKey] = key
	}
	return draft, nil
}

// draftOfSettings is the LLM of OpenHands' settings.
func draftOfSettings(ctx context.Context, o *addOptions) (profile.Draft, error) {
	profiles, err := o.Setup().ProfileStore(o.LockTimeout)
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
	return profile.Draft{}, fault.New("OpenHands' settings cannot be read", "to see why: ohgw profiles check", err)
}

// maxDraft bounds the file of a profile.
const maxDraft = 1 << 20

func draftFrom(a *kit.App, file string) (draft profile.Draft, err error) {
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return profile.Draft{}, fault.New("the profile cannot be read", "check that the file exists and is readable", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, maxDraft))
	if err != nil {
		return profile.Draft{}, fault.New("the profile cannot be read", "see the cause", err)
	}
	if draft, err = profile.ParseDraft(src); err != nil {
		return profile.Draft{}, fault.New("this is not a profile", "pass one JSON object in the form of an OpenHands profile", err)
	}
	return draft, nil
}

package profiles

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
)

// check refuses flags that contradict each other.
func (o *addOptions) check() error {
	described := o.Provider != "" || o.Model != "" || o.BaseURL != ""
	switch {
	case o.FromFile != "" && described:
		return fault.NewUsage("--from-file cannot be used with --provider, --model or --base-url", "use one or the other")
	case o.FromSettings && (o.FromFile != "" || described):
		return fault.NewUsage("--from-settings cannot be used with --from-file, --provider, --model or --base-url", "use one or the other")
	case o.KeyFrom != "" && (o.FromFile != "" || o.FromSettings):
		return fault.NewUsage("--key-from cannot be used with --from-file or --from-settings", "store the key afterwards: ohgw keys set NAME")
	case o.Name == "" && (!o.CanAsk() || o.FromFile != "" || o.FromSettings):
		return fault.NewUsage("the name is missing", "see ohgw profiles add --help")
	}
	return nil
}

// draft is the profile in a file or in the settings.
func draft(ctx context.Context, o *addOptions) (profile.Draft, error) {
	if o.FromFile != "" {
		return draftFrom(o.App, o.FromFile)
	}
	return draftOfSettings(ctx, o)
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
			return profile.Draft{}, fault.New("the profile cannot be read", kit.Meant(file, "check that the file exists and is readable"), err)
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

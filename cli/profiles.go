package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/profile/document"
	"github.com/ohgw/ohgw/internal/suggest"
)

func newProfiles(a *app) *cobra.Command {
	var in profilesInput
	cmd := &cobra.Command{
		Use:   "profiles COMMAND",
		Short: "List, check and repair OpenHands' LLM profiles",
		Long: `Works on the LLM profiles of OpenHands, in OpenHands' own files: each profile is
a model of the gateway. An agent-server may run meanwhile; both take the same
locks.

The files are in the directory that OH_PERSISTENCE_DIR names, else in
~/.openhands.`,
		Example: examples("ohgw profiles list", "ohgw profiles migrate --dry-run"),
		Args:    unknownCommand,
		RunE:    showHelp,
	}
	cmd.PersistentFlags().DurationVar(&in.LockTimeout, "lock-timeout", filelock.DefaultTimeout, "wait so long for another program's lock")
	in.flags = addSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(
		newProfilesList(a, &in), newProfilesShow(a, &in), newProfilesAdd(a, &in), newProfilesUse(a, &in), newProfilesRename(a, &in),
		newProfilesRemove(a, &in), newProfilesCheck(a, &in), newProfilesMigrate(a, &in),
	)
	return cmd
}

// profilesInput is what all commands about profiles take.
type profilesInput struct {
	LockTimeout time.Duration

	flags settingFlags // which store of keys
}

// locking is how these commands wait for a lock: after a second they say for
// whom.
func (a *app) locking(in *profilesInput) document.Locking {
	return document.Locking{Timeout: in.LockTimeout, OnWait: func(h filelock.Holder) {
		a.note("waiting for %s, which has the lock %s", h, h.Path)
	}}
}

// lookup is the environment in the form that tells unset from empty. An empty
// variable says nothing that these commands care about.
func (a *app) lookup(name string) (string, bool) {
	value := a.Getenv(name)
	return value, value != ""
}

// places are the directories in which OpenHands keeps its files.
func (a *app) places() (profile.Places, error) {
	dirs, err := a.dirs()
	if err != nil {
		return profile.Places{}, err
	}
	work, err := os.Getwd()
	if err != nil {
		return profile.Places{}, fault.New("the working directory cannot be found", "go to a directory that is there", err)
	}
	return profile.Locate(a.lookup, dirs.Home, work), nil
}

// profileStores opens the stores of profiles, that of an agent-server first.
func (a *app) profileStores(in *profilesInput) ([]*profile.Store, error) {
	places, err := a.places()
	if err != nil {
		return nil, err
	}
	ciphers := a.ciphers(places)
	stores := make([]*profile.Store, 0, len(places.Stores))
	for _, l := range places.Stores {
		stores = append(stores, profile.Open(profile.Config{Base: l.Base, Ciphers: ciphers, Locking: a.locking(in)}))
	}
	return stores, nil
}

// profileStore opens the store of an agent-server.
func (a *app) profileStore(in *profilesInput) (*profile.Store, error) {
	stores, err := a.profileStores(in)
	if err != nil {
		return nil, err
	}
	return stores[0], nil
}

func (a *app) ciphers(places profile.Places) *profile.Ciphers {
	bases := make([]string, 0, len(places.Stores))
	for _, l := range places.Stores {
		bases = append(bases, l.Base)
	}
	return profile.FindCiphers(profile.CipherSources{LookupEnv: a.lookup, Bases: bases})
}

// completeProfiles offers the names of profiles.
func (a *app) completeProfiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.profileNames(), cobra.ShellCompDirectiveNoFileComp
}

// profileNames are the names of the profiles, as far as they can be told.
func (a *app) profileNames() []string {
	store, err := a.profileStore(&profilesInput{})
	if err != nil {
		return nil
	}
	names, err := store.Names()
	if err != nil {
		return nil
	}
	return names
}

// profileFault is err as a person should read it. name is the profile it is
// about.
func (a *app) profileFault(ctx context.Context, err error, name string) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{
			Msg:  "another program has the lock of the profiles: " + busy.Holder.String(),
			Hint: "try again when it is done, or wait longer with --lock-timeout", Code: fault.Conflict, Err: err,
		}
	}
	if used, ok := errors.AsType[*profile.InUseError](err); ok {
		return &fault.Error{
			Msg:  fmt.Sprintf("the profile %q is used by %d agent profiles: %v", name, len(used.By), used.By),
			Hint: "let those use another profile first", Code: fault.Conflict,
		}
	}
	switch {
	case errors.Is(err, profile.ErrNotFound):
		hint := "ohgw profiles list shows what there is"
		if near := suggest.Nearest(name, a.profileNames()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fault.New(fmt.Sprintf("there is no profile %q", name), hint, nil)
	case errors.Is(err, profile.ErrName):
		return usage(fmt.Sprintf("%q cannot be the name of a profile", name), "use up to 64 letters, digits, dots, dashes and underscores, the first one a letter or a digit")
	case errors.Is(err, profile.ErrExists):
		return &fault.Error{Msg: fmt.Sprintf("there is a profile %q already", name), Hint: "take another name, or remove that one first", Code: fault.Conflict}
	case errors.Is(err, profile.ErrLimit):
		return fault.New("there are as many profiles as OpenHands takes", "remove one that nobody uses: ohgw profiles remove NAME", nil)
	case errors.Is(err, profile.ErrLegacy):
		return fault.New("the settings are those of the first OpenHands", "start a present OpenHands once, which imports them", err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New("the files of OpenHands cannot be used", "give them to yourself (ls -l says whose they are)", err)
	}
	return fault.New(fmt.Sprintf("the profile %q cannot be used", name), "ohgw profiles check "+name+" says what is wrong and what repairs it", err)
}

package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/storage"
	"github.com/ohgw/ohgw/internal/suggest"
)

// Locking is how these commands wait for a lock, at most so long: after a
// second they say for whom.
func (env *Env) Locking(wait time.Duration) document.Locking {
	return document.Locking{Timeout: wait, OnWait: func(h filelock.Holder) {
		env.Note("waiting for %s, which holds the lock %s", h, h.Path)
	}}
}

// Places are the directories in which OpenHands keeps its files.
func (env *Env) Places() (profile.Places, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return profile.Places{}, err
	}
	work, err := env.Getwd()
	if err != nil {
		return profile.Places{}, fault.New("cannot find the working directory", "change to a directory that exists", err)
	}
	return profile.Locate(env.Lookup, dirs.Home, work), nil
}

// ProfileStores opens the stores of profiles, that of an agent-server first.
func (env *Env) ProfileStores(wait time.Duration) ([]*profile.Store, error) {
	places, err := env.Places()
	if err != nil {
		return nil, err
	}
	ciphers := env.Ciphers(places)
	stores := make([]*profile.Store, 0, len(places.Stores))
	for _, l := range places.Stores {
		stores = append(stores, profile.Open(profile.Config{Base: l.Base, Ciphers: ciphers, Locking: env.Locking(wait)}))
	}
	return stores, nil
}

// ProfileStore opens the store of an agent-server.
func (env *Env) ProfileStore(wait time.Duration) (*profile.Store, error) {
	stores, err := env.ProfileStores(wait)
	if err != nil {
		return nil, err
	}
	return stores[0], nil
}

// Ciphers returns what decrypts the keys in the profiles of these places.
func (env *Env) Ciphers(places profile.Places) *profile.Ciphers {
	bases := make([]string, 0, len(places.Stores))
	for _, l := range places.Stores {
		bases = append(bases, l.Base)
	}
	return profile.FindCiphers(profile.CipherSources{LookupEnv: env.Lookup, Bases: bases})
}

// ProfileNames are the names of the profiles, as far as they can be told.
func (env *Env) ProfileNames() []string {
	store, err := env.ProfileStore(0)
	if err != nil {
		return nil
	}
	names, err := store.Names()
	if err != nil {
		return nil
	}
	return names
}

// ProfileFault explains err to a person, with the next step. name is the profile it
// is about.
func (env *Env) ProfileFault(ctx context.Context, err error, name string) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{
			Msg:  "another program has locked the profiles: " + busy.Holder.String(),
			Hint: "try again when it is done, or wait longer with --lock-timeout", Code: fault.Conflict, Err: err,
		}
	}
	if used, ok := errors.AsType[*profile.InUseError](err); ok {
		return inUse(name, used)
	}
	if f := fileFault(err, name); f != nil {
		return f
	}
	switch {
	case errors.Is(err, profile.ErrNotFound):
		hint := "ohgw profiles list shows the profiles"
		if near := suggest.Nearest(name, env.ProfileNames()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fault.New(fmt.Sprintf("there is no profile %q", name), hint, nil)
	case errors.Is(err, profile.ErrName):
		return fault.NewUsage(fmt.Sprintf("%q is not a valid profile name", name), "use up to 64 letters, digits, dots, dashes and underscores, the first one a letter or a digit")
	case errors.Is(err, profile.ErrExists):
		return &fault.Error{Msg: fmt.Sprintf("there is a profile %q already", name), Hint: "choose another name, or remove the profile first: ohgw profiles remove NAME", Code: fault.Conflict}
	case errors.Is(err, profile.ErrLimit):
		return fault.New("the number of profiles has reached OpenHands' limit", "remove an unused profile: ohgw profiles remove NAME", nil)
	case errors.Is(err, profile.ErrLegacy):
		return fault.New("settings.json is in the OpenHands 0.x format", "start a current OpenHands once; it imports the file", err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New("the files of OpenHands cannot be used", access(err), err)
	}
	return fault.New(fmt.Sprintf("the profile %q cannot be used", name), "ohgw profiles check "+name+" shows the problem and its repair", err)
}

// fileFault explains why a file can be read and not changed; nil if it is another
// error.
func fileFault(err error, name string) error {
	if newer, ok := errors.AsType[*profile.SettingsError](err); ok && document.IsNewer(err) {
		return fault.New("a newer OpenHands wrote "+newer.Path+", which ohgw does not change", "install a newer ohgw, or change the active profile in OpenHands", newer.Err)
	}
	if newer, ok := errors.AsType[*profile.NewerFileError](err); ok {
		return fault.New("a newer OpenHands wrote "+newer.Path+", which ohgw does not change", "install a newer ohgw, or rename the profile in OpenHands", newer.Err)
	}
	if mounted, ok := errors.AsType[*profile.MountError](err); ok {
		return fault.New(fmt.Sprintf("the profile %q cannot be renamed or removed here: its file is mounted by itself, as in a container", name),
			"copy it under another name: ohgw profiles add NAME --from-file "+shellword.Of(mounted.Path)+"; or mount the directory "+filepath.Dir(mounted.Path)+" in place of the file", err)
	}
	return nil
}

// inUse says which other profiles use a profile.
func inUse(name string, used *profile.InUseError) error {
	if len(used.By) == 0 {
		return &fault.Error{
			Msg:  fmt.Sprintf("the profile %q is used by %d meta-profiles: %v", name, len(used.Meta), used.Meta),
			Hint: "change those meta-profiles to another profile first", Code: fault.Conflict,
		}
	}
	return &fault.Error{
		Msg:  fmt.Sprintf("the profile %q is used by %d agent profiles: %v", name, len(used.By), used.By),
		Hint: "change those agent profiles to another profile first", Code: fault.Conflict,
	}
}

// access is the command that gives the user the rights for the file that err is
// about.
func access(err error) string {
	path := ""
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		path = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		path = filepath.Dir(e.New)
	}
	if !filepath.IsAbs(path) {
		return "ohgw doctor"
	}
	return "give yourself access to the files: " + storage.Access(path, os.Stat, keyfile.Mine)
}

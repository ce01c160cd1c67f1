package setup

import (
	"path/filepath"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
)

// Lookup is the environment in the form that tells unset from empty. An empty
// variable says nothing that these commands care about.
func (env *Env) Lookup(name string) (string, bool) {
	value := env.Getenv(name)
	return value, value != ""
}

// Settings collects the settings from flags, by their names, and from all
// other sources.
func (env *Env) Settings(flags map[string][]string) (*config.Settings, error) {
	file, named, err := env.ConfigFile()
	if err != nil {
		return nil, err
	}
	s, err := config.Load(config.Source{Flags: flags, Getenv: env.Getenv, File: file, Named: named})
	if err == nil && s.Found {
		env.Detail("config file %s", file)
	}
	return s, err
}

// ConfigFile returns the path of the config file, and whether the person named it.
func (env *Env) ConfigFile() (path string, named bool, err error) {
	path = env.Config
	if path == "" {
		path = env.Getenv("OHGW_CONFIG")
	}
	if path != "" {
		path, err = filepath.Abs(path)
		return path, true, err
	}
	dirs, err := env.Dirs()
	if err != nil {
		return "", false, err
	}
	return dirs.ConfigFile(), false, nil
}

// Dirs are the directories of the user.
func (env *Env) Dirs() (paths.Set, error) {
	dirs, err := env.Paths()
	if err != nil {
		return paths.Set{}, &fault.Error{
			Msg:  "cannot find your home directory",
			Hint: "set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME",
			Err:  err,
		}
	}
	return dirs, nil
}

package sandboxes

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/setup"
)

// sandboxReader reads the settings of the sandbox, and knows this machine. A path
// can be set if it can be granted.
type sandboxReader struct {
	settings *config.Settings
	home     string // "" if there is none
	rules    *grants.Store
}

func newSandboxReader(env *setup.Env, s *config.Settings) (*sandboxReader, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	private := []string{dirs.Config, dirs.Runtime, s.File}
	if dirs.Home != "" {
		places, err := env.Places()
		if err != nil {
			return nil, err
		}
		private = append(private, places.Private()...)
	}
	rules := grants.Open(grants.Config{State: dirs.State, Home: dirs.Home, Private: private, Now: env.Now})
	return &sandboxReader{settings: s, home: dirs.Home, rules: rules}, nil
}

// name is the setting that an item came from.
func (r *sandboxReader) name(workspace, key, item string) string {
	if workspace != "" {
		return tableOf(workspace) + strings.TrimPrefix(key, "sandbox") + " in " + r.settings.File
	}
	return r.settings.SourceOf(key, item)
}

func tableOf(workspace string) string { return "sandbox.workspace." + strconv.Quote(workspace) }

// place resolves a path in a setting for the manager: absolute, existing, without
// symbolic links. Access is what the path is for; without one, it is made smaller.
func (r *sandboxReader) place(setting, text string, access sandbox.Access) (string, error) {
	at := text
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if r.home == "" {
			return "", invalidSandbox(setting+" has "+strconv.Quote(text)+", and there is no home directory", "write the full path, or set HOME")
		}
		at = filepath.Join(r.home, rest)
	}
	if access == "" {
		at, err := grants.Existing(at)
		if err == nil && at == filepath.Dir(at) {
			err = &grants.InvalidError{Why: "the root directory is everything", Hint: "name single directories"}
		}
		return at, placeFault(setting, err)
	}
	g, err := r.rules.Canonical(grants.Grant{Access: access, Target: at})
	return g.Target, placeFault(setting, err)
}

// placeFault returns the error for a path that cannot be set.
func placeFault(setting string, err error) error {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*grants.InvalidError](err); ok {
		return invalidSandbox(setting+": "+invalid.Why, invalid.Hint)
	}
	return invalidSandbox(setting+": "+err.Error(), "")
}

// places resolves the paths of one list.
func (r *sandboxReader) places(workspace, key string, texts []string, access sandbox.Access) ([]string, error) {
	var found []string
	for _, text := range texts {
		at := text
		if access != sandbox.Socket || !slices.Contains(grants.Sockets(), text) {
			var err error
			if at, err = r.place(r.name(workspace, key, text), text, access); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	return found, nil
}

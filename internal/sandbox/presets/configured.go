package presets

import (
	"os"
	"path/filepath"
	"strings"
)

// files are those in which users set up the hosts of package managers that take them
// from variables, too, below their home directories.
var files = map[string][]string{
	"go":     {".config/go/env"},
	"node":   {".npmrc"},
	"python": {".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml"},
}

// variables name such a file.
var variables = map[string][]string{
	"go":     {"GOENV"},
	"node":   {"NPM_CONFIG_USERCONFIG", "npm_config_userconfig"},
	"python": {"PIP_CONFIG_FILE", "UV_CONFIG_FILE"},
}

// hosts are variables that have the hosts themselves. Programs in a sandbox do not get
// those with a password.
var hosts = map[string][]string{
	"go":     {"GOPROXY", "GOSUMDB"},
	"node":   {"NPM_CONFIG_REGISTRY", "npm_config_registry"},
	"python": {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"},
}

// Configured lists those of the presets in a preset whose package managers have
// settings of the user that programs in a sandbox do not see. These programs need
// [Found.Env] of them. All others use the right hosts by themselves.
func (w Workspace) Configured(preset string) []string {
	var names []string
	for _, name := range w.Parts(preset) {
		if w.Asker.configured(name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *Asker) configured(name string) bool {
	for _, variable := range variables[name] {
		if value := a.cfg.Getenv(variable); filepath.IsAbs(value) && value != os.DevNull {
			return true
		}
	}
	for _, variable := range hosts[name] {
		if strings.Contains(a.cfg.Getenv(variable), "@") {
			return true
		}
	}
	for _, file := range files[name] {
		if _, err := os.Stat(filepath.Join(a.cfg.Home, file)); err == nil {
			return true
		}
	}
	return false
}

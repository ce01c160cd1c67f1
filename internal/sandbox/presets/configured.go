package presets

import (
	"os"
	"path/filepath"
)

// files are those in which users set up the hosts of their package managers, below
// their home directories.
var files = []string{
	".npmrc", ".config/pip/pip.conf", ".pip/pip.conf", ".config/go/env", ".cargo/config.toml", ".cargo/config",
	".m2/settings.xml", ".config/uv/uv.toml",
}

// variables name such a file.
var variables = []string{"NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "GOENV", "UV_CONFIG_FILE"}

// Configured says whether a home directory has settings of package managers. Without
// them, programs that do not see the home directory use the same hosts by themselves.
func Configured(home string, getenv func(string) string) bool {
	for _, name := range variables {
		if value := getenv(name); filepath.IsAbs(value) && value != os.DevNull {
			return true
		}
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return true
		}
	}
	return false
}

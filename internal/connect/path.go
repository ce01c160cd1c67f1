package connect

import (
	"path/filepath"
	"strings"
)

// Kept reports whether the settings are in a file of known form.
func (c Client) Kept() bool { return c.File != "" }

// Path is where the client keeps its settings on the system goos (see
// runtime.GOOS); "" when the user decides about that.
func (c Client) Path(getenv func(string) string, home, goos string) string {
	return c.pathOf(c.File, getenv, home, goos)
}

// BesidePath is where Beside is.
func (c Client) BesidePath(home string) string {
	rest, _ := strings.CutPrefix(c.Beside, "~/")
	return filepath.Join(home, filepath.FromSlash(rest))
}

func (c Client) pathOf(file string, getenv func(string) string, home, goos string) string {
	switch {
	case goos == "darwin" && c.darwin != "":
		file = c.darwin
	case goos == "windows" && c.windows != "":
		file = c.windows
	}
	base := filepath.Base(filepath.FromSlash(file))
	if dir := getenv(c.variable); c.variable != "" && dir != "" {
		return filepath.Join(dir, base)
	}
	if rest, ok := strings.CutPrefix(file, "$APPDATA/"); ok {
		return filepath.Join(getenv("APPDATA"), filepath.FromSlash(rest))
	}
	if rest, ok := strings.CutPrefix(file, "~/.config/"); ok && goos != "darwin" {
		if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(home, filepath.FromSlash(rest))
	}
	return ""
}

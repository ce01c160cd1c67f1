package profile

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/document"
)

// Names in the file system and in the environment.
const (
	baseName   = ".openhands"
	baseVar    = "OH_PERSISTENCE_DIR"
	cliBaseVar = "OPENHANDS_PERSISTENCE_DIR"
)

// Location is a base directory.
type Location struct {
	Base   string `json:"base"`   // absolute
	Origin string `json:"origin"` // what named it, for people
}

// Places are the directories in which OpenHands keeps files on this machine.
type Places struct {
	// Stores are the base directories. The first one is that of an
	// agent-server that is started now, with the user's skills, agents, hooks and
	// SOUL.md. The second one, if there is one, is that of SDK programs before 1.49
	// without a server, which do not look at the environment.
	Stores []Location

	// CLI is the base directory of the OpenHands CLI.
	CLI string

	home string
}

// Base is the directory of all of OpenHands' files of this user.
func (p Places) Base() string { return p.Stores[0].Base }

// Private are the directories that no agent may see: Base, and the one that is used
// without OH_PERSISTENCE_DIR, which need not be there.
func (p Places) Private() []string {
	usual := filepath.Join(p.home, baseName)
	if p.Base() == usual {
		return []string{usual}
	}
	return []string{p.Base(), usual}
}

// Locate finds the places from the environment. home is the home directory, dir
// the working directory, against which a relative OH_PERSISTENCE_DIR is taken: as
// OpenHands 1.49 and newer do, which also know "~" there.
func Locate(lookup func(string) (string, bool), home, dir string) Places {
	fallback := Location{filepath.Join(home, baseName), "default"}
	places := Places{Stores: []Location{fallback}, CLI: fallback.Base, home: home}
	if cli, _ := lookup(cliBaseVar); cli != "" {
		places.CLI = absolute(dir, cli)
	}
	if base, _ := lookup(baseVar); base != "" {
		places.Stores = []Location{{absolute(dir, expand(home, base)), baseVar}}
		if !sameDir(places.Stores[0].Base, fallback.Base) && holdsFiles(fallback.Base) {
			places.Stores = append(places.Stores, fallback)
		}
	}
	return places
}

// Below finds base directories in and under root that releases before 1.40 left
// behind. They are there to be looked at, not to be used.
func Below(root string) []Location {
	var found []Location
	for _, rel := range []string{".", baseName, filepath.Join("workspace", baseName)} {
		if base := filepath.Join(root, rel); holdsFiles(base) {
			found = append(found, Location{base, "below " + root})
		}
	}
	return found
}

// expand puts the home directory in the place of a "~" at the beginning.
func expand(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	return path
}

// absolute does not expand "~", as OpenHands' CLI does not.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// holdsFiles reports whether a directory is in use as a base directory.
func holdsFiles(base string) bool {
	for _, path := range []string{document.ProfilesDir(base), document.SettingsFile(base).Path} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

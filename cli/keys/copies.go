package keys

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// copiesOf finds the files that contain a key in clear text: OpenHands' files,
// and the backups that ohgw has made of them. The key store is not among them.
func copiesOf(ctx context.Context, a *kit.App, profiles *profile.Store, key secret.Value) []string {
	var backups []string
	if dirs, err := a.Setup().Dirs(); err == nil {
		backups = append(backups, filepath.Join(dirs.State, setup.BackupsDir))
	}
	return profiles.Copies(ctx, key, backups...)
}

// tellCopies names the files that still contain a key in clear text, each with
// the command that removes it there: into the key store, or for good.
func tellCopies(a *kit.App, profiles *profile.Store, paths []string, forGood bool) {
	for _, path := range paths {
		a.Note("The key is still in clear text in %s\n  remove it there: %s", path, removal(profiles, path, forGood))
	}
}

// removal returns the command that removes the keys from a file.
func removal(profiles *profile.Store, path string, forGood bool) string {
	move := func(name string) string {
		command := "ohgw keys import --remove-from-profile " + name
		if forGood {
			command += " && ohgw keys remove " + name
		}
		return command
	}
	dir, name := filepath.Split(path)
	name, isJSON := strings.CutSuffix(name, ".json")
	switch dir = filepath.Clean(dir); {
	case isJSON && dir == filepath.Join(profiles.Base(), "profiles"):
		return move(name)
	case isJSON && dir == profiles.Base() && name == "settings":
		if active, err := profiles.Active(); err == nil && active != "" {
			return move(active)
		}
		return "ohgw profiles check"
	case isJSON && (dir == profiles.Base() || filepath.Base(dir) == "provider-connections"):
		return "change the key in OpenHands"
	}
	if strings.ContainsAny(path, " '\"$") {
		path = strconv.Quote(path)
	}
	return "rm " + path
}

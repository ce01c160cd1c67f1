package skill

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
)

// leftOut reports which directories below a place do not belong to it: places of their
// own, and where skills are installed, those that the user has switched off, and those that
// are being installed.
func leftOut(root *os.Root, place string) func(p string) bool {
	if place != installedPlace {
		return func(p string) bool { return p != place && slices.Contains(ownPlaces, p) }
	}
	type entries map[string]struct {
		Enabled *bool `json:"enabled"`
	}
	var file struct {
		Skills     entries `json:"skills"` // its older name
		Extensions entries `json:"extensions"`
	}
	if data, err := read(root, path.Join(place, ".installed.json")); err == nil {
		_ = json.Unmarshal(data, &file) // a file that cannot be read switches nothing off, as in OpenHands
	}
	return func(p string) bool {
		if path.Dir(p) != place {
			return false
		}
		name := path.Base(p)
		e, ok := file.Extensions[name]
		if !ok {
			e = file.Skills[name]
		}
		return strings.HasPrefix(name, ".") || e.Enabled != nil && !*e.Enabled
	}
}

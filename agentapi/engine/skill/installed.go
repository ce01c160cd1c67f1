package skill

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// installedList has what is known of the installed skills.
const installedList = ".installed.json"

// leftOut reports which directories below a place do not belong to it: places of their
// own, and where skills are installed, those that the user has switched off, and those that
// are being installed. Where the list of the installed ones cannot be read, none of them is used.
func leftOut(root *os.Root, place string) (func(p string) bool, error) {
	if place != installedPlace {
		return func(p string) bool { return p != place && slices.Contains(ownPlaces, p) }, nil
	}
	type entries map[string]struct {
		Enabled *bool `json:"enabled"`
	}
	var file struct {
		Skills     entries `json:"skills"` // its older name
		Extensions entries `json:"extensions"`
	}
	data, err := read(root, path.Join(place, installedList))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &formError{"it cannot be read; repair its JSON, or remove the file, which switches each installed skill on"}
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
	}, nil
}

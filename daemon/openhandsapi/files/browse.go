package files

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Limits of lists.
const (
	maxFavorites = 50
	maxSubdirs   = 100
)

func isOutside(err error) bool { return errors.Is(err, sandbox.ErrOutside) }

type entry struct {
	Label string `json:"label"`
	Path  string `json:"path"`
}

// home lists where workspaces may be. Names of directories are shown outside of any
// sandbox: there is none before a directory was chosen.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	hidden, err := wire.Bool(r, "include_hidden", false)
	if err != nil {
		return err
	}
	home, locations := s.Home, roots()
	if s.Only != "" {
		home, locations = s.Only, []entry{{filepath.Base(s.Only), s.Only}}
	}
	favorites := []entry{}
	names, err := subdirs(home, hidden)
	if err == nil {
		for _, name := range names[:min(len(names), maxFavorites)] {
			favorites = append(favorites, entry{name, filepath.Join(home, name)})
		}
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"home": home, "favorites": favorites, "locations": locations})
	return nil
}

// roots are where files begin on this machine.
func roots() []entry {
	if runtime.GOOS != "windows" {
		return []entry{{"/", "/"}}
	}
	found := []entry{}
	for letter := 'A'; letter <= 'Z'; letter++ {
		at := string(letter) + `:\`
		if _, err := os.Stat(at); err == nil {
			found = append(found, entry{at[:2], at})
		}
	}
	return found
}

// subdirs are the names of the directories in a directory, without links.
func subdirs(dir string, hidden bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && (hidden || !strings.HasPrefix(e.Name(), ".")) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names, nil
}

type subdir struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (s *server) subdirs(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	limit, err := wire.Int(r, "limit", maxSubdirs, pydantic.Above(0, maxSubdirs))
	if err != nil {
		return err
	}
	hidden, err := wire.Bool(r, "include_hidden", false)
	if err != nil {
		return err
	}
	names, err := s.listed(path, hidden)
	if err != nil {
		return err
	}
	page := struct {
		Items []subdir `json:"items"`
		Next  *string  `json:"next_page_id"`
	}{Items: []subdir{}}
	from := r.URL.Query().Get("page_id")
	names = names[max(slices.IndexFunc(names, func(name string) bool { return strings.ToLower(name) == from }), 0):]
	for i, name := range names {
		if i == limit {
			next := strings.ToLower(name)
			page.Next = &next
			break
		}
		page.Items = append(page.Items, subdir{name, filepath.Join(path, name)})
	}
	wire.WriteJSON(w, http.StatusOK, page)
	return nil
}

// listed lists the directories in a directory that clients may look into.
func (s *server) listed(path string, hidden bool) ([]string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && s.Only != "" {
		only, onlyErr := filepath.EvalSymlinks(s.Only)
		if err = onlyErr; err == nil && !subpath.Within(only, real) {
			err = sandbox.ErrOutside
		}
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err == nil && !info.IsDir() {
		return nil, wire.Refuse(http.StatusBadRequest, "Path is not a directory")
	}
	var names []string
	if err == nil {
		names, err = subdirs(real, hidden)
	}
	return names, failure(err, "Directory not found")
}

// Package workspaces serves the list of directories that a user has chosen in a client
// of OpenHands' own API. It is the agent-server's file workspaces.json.
package workspaces

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/paths"
)

// Limits of an item, in characters.
const (
	maxPath = 4096
	maxName = 256
)

// version is that of the file.
const version = 1

// Config is what the routes need. Dir has the file; it is made when it is needed.
type Config struct{ Dir string }

// Routes are those of /api/workspaces.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg.Dir}
	const base = "/api/workspaces"
	path := []string{"path"}
	return []wire.Route{
		{Method: http.MethodGet, Path: base, Summary: "The workspaces that were chosen", Handle: s.list},
		{Method: http.MethodPost, Path: base, Summary: "Add workspaces", Body: true, Handle: s.add("workspaces", workspacesOf)},
		{Method: http.MethodDelete, Path: base, Summary: "Remove a workspace", Query: path, Handle: s.remove("Workspace not found", workspacesOf)},
		{Method: http.MethodPost, Path: base + "/parents", Summary: "Add directories with workspaces", Body: true, Handle: s.add("parents", parentsOf)},
		{Method: http.MethodDelete, Path: base + "/parents", Summary: "Remove a directory with workspaces", Query: path, Handle: s.remove("Workspace parent not found", parentsOf)},
	}
}

type server struct{ dir string }

// item is a directory.
type item struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Path   string  `json:"path"`
	Parent *string `json:"parentPath,omitempty"`
}

// stored is the file.
type stored struct {
	Version    int    `json:"schema_version"`
	Workspaces []item `json:"workspaces"`
	Parents    []item `json:"workspaceParents"`
}

func workspacesOf(s *stored) *[]item { return &s.Workspaces }
func parentsOf(s *stored) *[]item    { return &s.Parents }

func (s *server) file() string { return filepath.Join(s.dir, "workspaces.json") }

// load reads the file; a missing one is an empty list.
func (s *server) load() (*stored, error) {
	list := &stored{Version: version}
	data, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of workspaces: %w", err)
	}
	if err := json.Unmarshal(data, list); err != nil || list.Version > version {
		return nil, &wire.Error{Status: http.StatusConflict, Detail: "Workspaces file is corrupted", Err: err}
	}
	list.Version = version
	return list, nil
}

// update changes the file, which an agent-server may use at the same time.
func (s *server) update(ctx context.Context, change func(*stored)) (*stored, error) {
	if err := paths.MakePrivate(s.dir); err != nil {
		return nil, fmt.Errorf("write the list of workspaces: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(s.dir, ".workspaces.lock"), filelock.Options{})
	if err != nil {
		return nil, fmt.Errorf("write the list of workspaces: %w", err)
	}
	defer func() { _ = lock.Release() }() // the file is written
	list, err := s.load()
	if err != nil {
		return nil, err
	}
	change(list)
	data, err := json.MarshalIndent(filled(list), "", "  ")
	if err == nil {
		err = atomicfile.Write(s.file(), data, atomicfile.Options{MaxMode: 0o600})
	}
	return list, err
}

// filled has lists in the place of nil.
func filled(s *stored) *stored {
	full := *s
	full.Workspaces, full.Parents = append([]item{}, s.Workspaces...), append([]item{}, s.Parents...)
	return &full
}

func write(w http.ResponseWriter, s *stored) {
	full := filled(s)
	wire.WriteJSON(w, http.StatusOK, map[string][]item{"workspaces": full.Workspaces, "workspaceParents": full.Parents})
}

func (s *server) list(w http.ResponseWriter, _ *http.Request) error {
	list, err := s.load()
	if err != nil {
		return err
	}
	write(w, list)
	return nil
}

// add takes the items of a field whose paths are new.
func (s *server) add(field string, of func(*stored) *[]item) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := wire.ReadObject(r, false)
		if err != nil {
			return err
		}
		items := read(body, field)
		if err := body.Err(); err != nil {
			return err
		}
		list, err := s.update(r.Context(), func(all *stored) {
			known := of(all)
			for _, i := range items {
				if !slices.ContainsFunc(*known, func(k item) bool { return k.Path == i.Path }) {
					*known = append(*known, i)
				}
			}
		})
		if err != nil {
			return err
		}
		write(w, list)
		return nil
	}
}

// read reads the items.
func read(body *pydantic.Object, field string) (items []item) {
	body.Need(field)
	body.NotNull(field, pydantic.NoList())
	for _, one := range body.List(field) {
		in := one.Object()
		if in == nil {
			continue
		}
		it := item{ID: needed(in, "id", maxPath), Name: needed(in, "name", maxName), Path: needed(in, "path", maxPath)}
		if field == "workspaces" {
			it.Parent = cmp.Or(in.Text("parentPath", 0, maxPath), in.Text("parent_path", 0, maxPath))
		}
		items = append(items, it)
	}
	return items
}

// needed is a text that must be there.
func needed(o *pydantic.Object, name string, longest int) string {
	o.Need(name)
	return o.Within(name, "", 1, longest)
}

// remove takes the item with a path out.
func (s *server) remove(missing string, of func(*stored) *[]item) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !r.URL.Query().Has("path") {
			return pydantic.Refuse(pydantic.Missing().At([]any{"query", "path"}, nil))
		}
		path := r.URL.Query().Get("path")
		removed := false
		_, err := s.update(r.Context(), func(all *stored) {
			known := of(all)
			before := len(*known)
			*known = slices.DeleteFunc(*known, func(i item) bool { return i.Path == path })
			removed = len(*known) < before
		})
		switch {
		case err != nil:
			return err
		case !removed:
			return wire.Refuse(http.StatusNotFound, "%s", missing)
		}
		wire.WriteJSON(w, http.StatusOK, map[string]bool{"deleted": true})
		return nil
	}
}

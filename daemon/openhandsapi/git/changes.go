package git

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// change is a file that has changed.
type change struct {
	Status string `json:"status"` // ADDED, DELETED or UPDATED
	Path   string `json:"path"`   // relative to the directory that was asked for
}

func (s *server) changes(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	list, err := s.changesAt(r.Context(), path, r.URL.Query().Get("ref"))
	if err != nil {
		return answer(w, err, []change{})
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

// changesAt lists the changes in a directory, and in the repositories right below it.
func (s *server) changesAt(ctx context.Context, path, ref string) ([]change, error) {
	dir, nested, err := s.nested(ctx, path)
	if err != nil {
		return nil, err
	}
	own, err := s.changesIn(ctx, dir, ref)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(own, func(c change) bool {
		return slices.ContainsFunc(nested, func(name string) bool { return c.Path == name || strings.HasPrefix(c.Path, name+"/") })
	})
	for _, name := range nested {
		inner, err := s.changesIn(ctx, filepath.Join(dir, name), ref)
		if failed(err) || errors.Is(err, errNoRepository) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range inner {
			list = append(list, change{c.Status, name + "/" + c.Path})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// nested finds the directory of a path, and the names of the repositories right below
// it.
func (s *server) nested(ctx context.Context, path string) (dir string, names []string, err error) {
	files, at, release, err := s.boxes.Files(ctx, path)
	if err != nil {
		return "", nil, err
	}
	defer release()
	entries, err := files.List(at)
	if err != nil {
		return "", nil, errNoRepository
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == ".git" {
			continue
		}
		if _, err := files.Stat(filepath.Join(at, e.Name(), ".git")); err == nil {
			names = append(names, e.Name())
		}
	}
	return at, names, nil
}

// changesIn lists the changes of one repository, with the files that git does not know.
func (s *server) changesIn(ctx context.Context, dir, ref string) ([]change, error) {
	repo, err := s.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	var base string
	if ref != "" {
		base, err = repo.resolve(ctx, ref)
	} else {
		base = repo.base(ctx)
	}
	if err != nil {
		return nil, err
	}
	out, err := repo.run(ctx, "diff", "--no-ext-diff", "--relative", "--name-status", "-z", base, "--")
	if err != nil {
		return nil, err
	}
	list := parse(out)
	unknown, err := repo.run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil && !failed(err) {
		return nil, err
	}
	for name := range strings.SplitSeq(unknown, "\x00") {
		if name != "" {
			list = append(list, change{"ADDED", name})
		}
	}
	return list, nil
}

// parse reads what git diff --name-status -z prints. A file with a new name is one that
// was deleted and one that was added.
func parse(out string) []change {
	list := []change{}
	words := strings.Split(out, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		status, path := words[i], words[i+1]
		switch {
		case status == "":
			return list
		case (status[0] == 'R' || status[0] == 'C') && i+2 < len(words):
			if status[0] == 'R' {
				list = append(list, change{"DELETED", path})
			}
			list = append(list, change{"ADDED", words[i+2]})
			i++
		case status[0] == 'A':
			list = append(list, change{"ADDED", path})
		case status[0] == 'D':
			list = append(list, change{"DELETED", path})
		default:
			list = append(list, change{"UPDATED", path})
		}
	}
	return list
}

package git

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

// maxFile is how large a file may be whose diff is asked for, in bytes.
const maxFile = 1 << 20

// diff is a file after and before.
type diff struct {
	Modified *string `json:"modified"`
	Original *string `json:"original"`
}

func (s *server) diff(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	ref, commit := q.Get("ref"), q.Get("commit")
	if q.Has("commit") {
		if err := checkSHA(commit, "query", "commit"); err != nil {
			return err
		}
		if q.Has("ref") {
			return wire.Refuse(http.StatusBadRequest, "'ref' and 'commit' are mutually exclusive")
		}
	}
	files, at, release, err := s.boxes.Files(r.Context(), path)
	if err != nil {
		return answer(w, err, diff{})
	}
	defer release()
	var found diff
	if commit != "" {
		found, err = s.committed(r.Context(), files, at, commit)
	} else {
		found, err = s.current(r.Context(), files, at, ref)
	}
	if err != nil {
		return answer(w, err, diff{})
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}

func tooLarge(size int64) error {
	return wire.Refuse(http.StatusBadRequest, "File too large for git diff: %d bytes (max: %d bytes)", size, maxFile)
}

// current compares a file on the disk with a commit.
func (s *server) current(ctx context.Context, files sandbox.Files, at, ref string) (diff, error) {
	real, err := files.Real(at)
	var info fs.FileInfo
	if err == nil {
		info, err = files.Stat(real)
	}
	if err != nil {
		return diff{}, wire.Refuse(http.StatusBadRequest, "File does not exist: %s", at)
	}
	if info.Size() > maxFile {
		return diff{}, tooLarge(info.Size())
	}
	repo, name, err := s.around(ctx, files, real)
	if err != nil {
		return diff{}, err
	}
	base := ""
	if ref == "" {
		base = repo.base(ctx)
	} else if base, err = repo.resolve(ctx, ref); err != nil {
		return diff{}, err
	}
	before, err := repo.show(ctx, base, name)
	if err != nil {
		return diff{}, err
	}
	after := ""
	data, _, err := files.Read(real, maxFile)
	if err == nil && utf8.Valid(data) {
		after = strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	}
	return diff{&after, &before}, nil
}

// committed compares a file in a commit with the commit before it. It need not be on
// the disk.
func (s *server) committed(ctx context.Context, files sandbox.Files, at, commit string) (diff, error) {
	if real, err := files.Real(at); err == nil {
		at = real
	}
	repo, name, err := s.around(ctx, files, at)
	if err != nil {
		return diff{}, err
	}
	after, err := repo.resolve(ctx, commit)
	if err != nil {
		return diff{}, err
	}
	original, err := repo.show(ctx, repo.before(ctx, after), name)
	if err != nil {
		return diff{}, err
	}
	modified, err := repo.show(ctx, after, name)
	return diff{&modified, &original}, err
}

// around is the repository of a file, and its name there.
func (s *server) around(ctx context.Context, files sandbox.Files, at string) (repository, string, error) {
	for dir := range subpath.Up(at) {
		if _, err := files.Stat(filepath.Join(dir, ".git")); err == nil {
			name, _ := subpath.Rel(dir, at)
			repo, err := s.open(ctx, dir)
			return repo, filepath.ToSlash(name), err
		}
	}
	return repository{}, "", errNoRepository
}

// before is the first parent of a commit.
func (r repository) before(ctx context.Context, commit string) string {
	if parent := r.parse(ctx, commit+"^"); parent != "" {
		return parent
	}
	return emptyTree
}

// show reads the content of a file in a commit; "" if it is not there.
func (r repository) show(ctx context.Context, commit, name string) (string, error) {
	at := commit + ":" + name
	size, err := r.run(ctx, "cat-file", "-s", at)
	if failed(err) {
		return "", nil
	}
	if n, numErr := strconv.ParseInt(size, 10, 64); err == nil && numErr == nil && n > maxFile {
		return "", tooLarge(n)
	}
	text, showErr := r.run(ctx, "show", at)
	if failed(showErr) {
		return "", nil
	}
	return text, errors.Join(err, showErr)
}

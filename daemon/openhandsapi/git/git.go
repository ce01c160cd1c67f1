// Package git serves what has changed in the git repositories of workspaces to clients
// of OpenHands' own API: /api/git, and archives of workspaces.
package git

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Boxes is where git runs and files are read, with the rights that clients are to have.
type Boxes interface {
	// Files is access to the files around a path, until release is called. At is the path
	// for it. A path that clients may not reach is sandbox.ErrOutside.
	Files(ctx context.Context, path string) (files sandbox.Streams, at string, release func(), err error)
	// Git runs git in a directory and returns what it prints. If git fails, the error is
	// a sandbox.ExitError.
	Git(ctx context.Context, dir string, args ...string) (out []byte, err error)
	// Shell runs a script of the shell in a directory, and writes what it prints to out.
	// Its error is like that of Git, or ErrNoShell.
	Shell(ctx context.Context, dir string, out io.Writer, script string, args ...string) error
}

// Config is what the routes need.
type Config struct{ Boxes Boxes }

// Routes are those of /api/git, and /api/file/archive.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg.Boxes}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/git/changes", Summary: "The files that changed in a repository", Query: []string{"path", "ref"}, Handle: s.changes},
		{Method: http.MethodGet, Path: "/api/git/diff", Summary: "A file before and after", Query: []string{"path", "ref", "commit"}, Handle: s.diff},
		{Method: http.MethodGet, Path: "/api/git/commits", Summary: "The newest commits", Query: []string{"path", "limit"}, Handle: s.commits},
		{Method: http.MethodGet, Path: "/api/git/commits/{sha}/changes", Summary: "The files that a commit changed", Query: []string{"path"}, Handle: s.commitChanges},
		{Method: http.MethodGet, Path: "/api/file/archive", Summary: "The files of a directory (tar.gz), or what changed in them (git-delta)", Query: []string{"path", "format", "base_ref", "use_default_excludes", "exclude"}, Handle: s.archive},
	}
}

type server struct{ boxes Boxes }

// errNoRepository says that a path is in no repository, of which there is nothing to
// tell.
var errNoRepository = errors.New("it is not in a git repository")

// maxPath is how long a path may be, in bytes.
const maxPath = 4096

func pathIn(r *http.Request) (string, error) {
	q := r.URL.Query()
	path := q.Get("path")
	switch {
	case !q.Has("path"):
		return "", pydantic.Refuse(pydantic.Missing().At([]any{"query", "path"}, nil))
	case strings.ContainsRune(path, 0), len(path) > maxPath:
		return "", wire.Refuse(http.StatusBadRequest, "The path is not valid")
	}
	return path, nil
}

// sha is what may be the name of a commit, and can be no option of git.
var sha = pattern.Of(`^[0-9a-fA-F]{4,64}$`)

func checkSHA(text string, loc ...any) error {
	if sha().MatchString(text) {
		return nil
	}
	return pydantic.Refuse(pydantic.Mismatch(sha().String()).At(loc, text))
}

// repository is one at a directory.
type repository struct {
	boxes Boxes
	dir   string
}

// open checks that a directory is in a repository.
func (s *server) open(ctx context.Context, dir string) (repository, error) {
	repo := repository{s.boxes, dir}
	if _, err := repo.run(ctx, "rev-parse", "--git-dir"); err != nil {
		if failed(err) || s.isNoDirectory(ctx, dir) {
			err = errNoRepository
		}
		return repo, err
	}
	return repo, nil
}

// isNoDirectory reports whether there is no directory at a path that clients may reach:
// git cannot start there, such as in a workspace that was removed.
func (s *server) isNoDirectory(ctx context.Context, path string) bool {
	files, at, release, err := s.boxes.Files(ctx, path)
	if err != nil {
		return false
	}
	defer release()
	_, err = directory(files, at)
	return err != nil
}

// commandError is a failure of git in the words of an agent-server.
type commandError struct {
	args []string
	err  error
}

func (e *commandError) Error() string {
	return "Git command failed: git --no-pager " + strings.Join(e.args, " ")
}

func (e *commandError) Unwrap() error { return e.err }

// failed says that git itself has failed.
func failed(err error) bool {
	_, ok := errors.AsType[*sandbox.ExitError](err)
	return ok
}

// run is what git prints, without white space around it.
func (r repository) run(ctx context.Context, args ...string) (string, error) {
	out, err := r.boxes.Git(ctx, r.dir, args...)
	if failed(err) {
		return "", &commandError{args, err}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD")), err
}

// parse is the commit of a name; "" if there is none.
func (r repository) parse(ctx context.Context, name string) string {
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if err != nil {
		return ""
	}
	return out
}

// answer returns the answer for a failure. What is in no repository gets the answer
// empty with status 200.
func answer(w http.ResponseWriter, err error, empty any) error {
	if errors.Is(err, errNoRepository) {
		wire.WriteJSON(w, http.StatusOK, empty)
		return nil
	}
	if failed(err) {
		return &wire.Error{Status: http.StatusBadRequest, Detail: err.Error(), Err: err}
	}
	if errors.Is(err, sandbox.ErrOutside) {
		return &wire.Error{Status: http.StatusForbidden, Detail: "Permission denied: " + err.Error(), Err: err}
	}
	return err
}

// Package files serves the files of this machine to clients of OpenHands' own API:
// /api/file, and the workspace of a conversation as web pages.
//
// It has no rights of its own: a [Boxes] says what may be read and written.
package files

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Boxes gives access to files with the rights that clients are to have.
type Boxes interface {
	// Files is access to the files around an absolute path, until release is called. At
	// is the path for it. A path that clients may not reach is sandbox.ErrOutside.
	Files(ctx context.Context, path string) (files sandbox.Streams, at string, release func(), err error)
	// Below is access to a directory and what is in it, and nothing else. Root is its
	// path for it.
	Below(ctx context.Context, dir string) (files sandbox.Streams, root string, release func(), err error)
	// MakeDir makes a directory, and those above it.
	MakeDir(ctx context.Context, path string) error
}

// Config is what the routes need.
type Config struct {
	Boxes Boxes
	// Workspace is the directory of a conversation.
	Workspace func(ctx context.Context, id string) (dir string, err error)
	// Home is the user's home directory; "" if there is none. Only is the one directory
	// that clients may look for workspaces in; "" for any.
	Home, Only string
	Logger     *slog.Logger
}

// Routes lists the routes of /api/file but the trajectories, and the workspaces as
// pages.
func Routes(cfg Config) []wire.Route {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg}
	path := []string{"path"}
	return []wire.Route{
		{Method: http.MethodPost, Path: "/api/file/upload", Summary: "Upload a file (multipart/form-data, field file)", Query: path, Handle: s.upload},
		{Method: http.MethodGet, Path: "/api/file/download", Summary: "Download a file", Query: path, Handle: s.download},
		{Method: http.MethodPost, Path: "/api/file/create_directory", Summary: "Make a directory and those above it", Query: path, Handle: s.makeDir},
		{Method: http.MethodGet, Path: "/api/file/home", Summary: "The home directory and what is in it", Query: []string{"include_hidden"}, Handle: s.home},
		{Method: http.MethodGet, Path: "/api/file/search_subdirs", Summary: "The directories in a directory", Query: []string{"path", "page_id", "limit", "include_hidden"}, Handle: s.subdirs},
		{Method: http.MethodGet, Path: "/api/conversations/{id}/workspace", Summary: "The workspace of a conversation as pages", Handle: s.page},
		{Method: http.MethodGet, Path: "/api/conversations/{id}/workspace/{file_path...}", Summary: "A file of a workspace", Handle: s.page},
	}
}

type server struct{ Config }

// pathIn is the path in the query, absolute and clean.
func pathIn(r *http.Request) (string, error) {
	q := r.URL.Query()
	if !q.Has("path") {
		return "", pydantic.Refuse(pydantic.Missing().At([]any{"query", "path"}, nil))
	}
	return cleanPath(q.Get("path"))
}

// maxPath is how long a path may be, in bytes.
const maxPath = 4096

// cleanPath refuses what is not an absolute path of a file in this system's form.
func cleanPath(path string) (string, error) {
	switch {
	case strings.ContainsRune(path, 0), len(path) > maxPath:
		return "", wire.Refuse(http.StatusBadRequest, "Path is not valid")
	case !filepath.IsAbs(path):
		return "", wire.Refuse(http.StatusBadRequest, "Path must be absolute")
	}
	clean := filepath.Clean(path)
	if runtime.GOOS == "windows" {
		// No devices, shares, streams of a file, or names that are reserved.
		volume := filepath.VolumeName(clean)
		rest := strings.Trim(clean[len(volume):], `\`)
		if len(volume) != 2 || strings.Contains(rest, ":") || rest != "" && !filepath.IsLocal(rest) {
			return "", wire.Refuse(http.StatusBadRequest, "Path is not valid")
		}
	}
	return clean, nil
}

// failure returns the answer for an error of files; missing is the text of a 404.
func failure(err error, missing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, sandbox.ErrDangling):
		return &wire.Error{Status: http.StatusNotFound, Detail: missing, Err: err}
	case errors.Is(err, sandbox.ErrOutside), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &wire.Error{Status: http.StatusForbidden, Detail: "Permission denied: " + err.Error(), Err: err}
	case errors.Is(err, sandbox.ErrNotRegular), errors.Is(err, syscall.EISDIR):
		return &wire.Error{Status: http.StatusBadRequest, Detail: "Path is not a file", Err: err}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return &wire.Error{Status: http.StatusBadRequest, Detail: "Path exists and is not a directory", Err: err}
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return &wire.Error{Status: http.StatusBadRequest, Detail: "Path is not valid", Err: err}
	}
	return err
}

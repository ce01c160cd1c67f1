package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// The formats of an archive.
const (
	formatDelta = "git-delta"
	formatTar   = "tar.gz"
)

// request is what a client wants to have in an archive.
type request struct {
	format   string
	base     string // the commit that a delta is against; "" is found
	excludes []string
}

func readRequest(r *http.Request) (q request, err error) {
	if q.format, err = wire.Choice(r, "format", formatDelta, formatDelta, formatTar); err != nil {
		return q, err
	}
	defaults, err := wire.Bool(r, "use_default_excludes", true)
	if err != nil {
		return q, err
	}
	if defaults {
		q.excludes = defaultExcludes()
	}
	query := r.URL.Query()
	q.excludes = append(q.excludes, query["exclude"]...)
	q.base = query.Get("base_ref")
	if strings.HasPrefix(q.base, "-") {
		return q, wire.Refuse(http.StatusBadRequest, "base_ref must not start with '-'")
	}
	return q, nil
}

// archive answers with the files of a directory, or with what has changed in them.
func (s *server) archive(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return wire.Refuse(http.StatusBadRequest, "Path must be absolute")
	}
	q, err := readRequest(r)
	if err != nil {
		return err
	}
	files, at, release, err := s.boxes.Files(r.Context(), path)
	if err != nil {
		return answer(w, notFound(err), nil)
	}
	defer release()
	dir, err := directory(files, at)
	if err != nil {
		return answer(w, err, nil)
	}
	dir = repositoryBelow(files, dir)
	repo := repository{s.boxes, dir}
	out := &download{w: w}
	if isRepository(files, dir) {
		repo.identify(r.Context(), out.header())
	}
	name := filepath.Base(dir)
	if q.format == formatTar {
		out.kind(name+".tar.gz", "application/gzip")
		return out.end(pack(r.Context(), out, files, dir, q.excludes))
	}
	out.kind(name+".patch", "text/x-patch")
	return out.end(repo.delta(r.Context(), out, q))
}

// directory is the directory at a path.
func directory(files sandbox.Files, at string) (string, error) {
	real, err := files.Real(at)
	var info fs.FileInfo
	if err == nil {
		info, err = files.Stat(real)
	}
	if err == nil && !info.IsDir() {
		return "", wire.Refuse(http.StatusBadRequest, "Path is not a directory")
	}
	return real, notFound(err)
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sandbox.ErrDangling) {
		return &wire.Error{Status: http.StatusNotFound, Detail: "Directory not found", Err: err}
	}
	return err
}

func isRepository(files sandbox.Files, dir string) bool {
	_, err := files.Stat(filepath.Join(dir, ".git"))
	return err == nil
}

// maxDescent is how deep below a directory its one repository may be.
const maxDescent = 3

// repositoryBelow returns the one repository below a directory that is not itself a
// repository. Without one, or with several, it returns the directory.
func repositoryBelow(files sandbox.Files, dir string) string {
	if isRepository(files, dir) {
		return dir
	}
	found := repositories(files, dir, maxDescent)
	if len(found) == 1 {
		return found[0]
	}
	return dir
}

// repositories finds those below a directory; a second one ends the search.
func repositories(files sandbox.Files, dir string, depth int) (found []string) {
	entries, err := files.List(dir)
	if err != nil || depth == 0 {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || vendored(e.Name()) {
			continue
		}
		at := filepath.Join(dir, e.Name())
		if isRepository(files, at) {
			found = append(found, at)
		} else {
			found = append(found, repositories(files, at, depth-1)...)
		}
		if len(found) > 1 {
			break
		}
	}
	return found
}

// vendored says that a directory of that name may have repositories of others in it.
func vendored(name string) bool {
	switch name {
	case "node_modules", "venv", "site-packages", "vendor":
		return true
	}
	return false
}

// identify says in the headers of an archive which repository it is of.
func (r repository) identify(ctx context.Context, h http.Header) {
	set := func(name, value string) {
		if value != "" {
			h.Set("X-Archive-"+name, strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
		}
	}
	set("Repo-Root", r.dir)
	if remote, err := r.run(ctx, "remote", "get-url", "origin"); err == nil {
		set("Repo-Remote", withoutSecrets(remote))
	}
	if branch, err := r.run(ctx, "rev-parse", "--abbrev-ref", "HEAD"); err == nil {
		if branch == "HEAD" {
			branch = "DETACHED"
		}
		set("Branch", branch)
		set("Head-Commit", r.parse(ctx, "HEAD"))
	}
}

// userInAddress matches the user in the address of a web server, and a name with a
// password in any other address. It matches anywhere in the text, since git also takes
// addresses that are not URLs.
var userInAddress = pattern.Of(`(?i)(https?://)[^/@\s]+@|([a-z][a-z0-9+.-]*://)[^/@\s:]*:[^/@\s]*@`)

// withoutSecrets cuts out of the address of a repository what may be secret in it, as an
// agent-server sends it.
func withoutSecrets(address string) string {
	address = userInAddress().ReplaceAllString(address, "$1$2****@")
	path, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	query, _, _ = strings.Cut(query, "#")
	members := strings.Split(query, "&")
	for i, member := range members {
		name, _, _ := strings.Cut(member, "=")
		if plain, err := url.QueryUnescape(name); err != nil || pydantic.IsSecret(plain) {
			members[i] = name + "=%3Credacted%3E"
		}
	}
	return path + "?" + strings.Join(members, "&")
}

// download is an answer that begins with its first byte. Before it, an error can still
// be answered.
type download struct {
	w     http.ResponseWriter
	began bool
}

func (d *download) header() http.Header { return d.w.Header() }

// kind says what the file is.
func (d *download) kind(name, media string) {
	h := d.header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", wire.Attachment(name))
	h.Set("X-Content-Type-Options", "nosniff")
}

// Write implements [io.Writer].
func (d *download) Write(p []byte) (int, error) {
	d.began = true
	return d.w.Write(p)
}

// end ends the answer. One that is not whole ends with its connection.
func (d *download) end(err error) error {
	switch {
	case err == nil && !d.began:
		d.w.WriteHeader(http.StatusOK)
		return nil
	case err == nil:
		return nil
	case d.began:
		panic(http.ErrAbortHandler) // the client sees that it is not whole
	}
	for name := range d.header() {
		if strings.HasPrefix(name, "X-Archive-") || name == "Content-Disposition" {
			d.header().Del(name)
		}
	}
	if errors.Is(err, ErrNoShell) {
		return wire.Refuse(http.StatusNotImplemented, "%s", err.Error())
	}
	if failed(err) {
		return &wire.Error{Status: http.StatusInternalServerError, Detail: "Failed to generate git delta", Err: err}
	}
	return err
}

// ErrNoShell says that scripts of a POSIX shell cannot be run on this system.
var ErrNoShell = errors.New("git-delta needs a POSIX shell, which this system does not have; use format=tar.gz")

// deltaScript prints the changes since a commit, with new files, by an index of its own.
const deltaScript = `d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
GIT_INDEX_FILE=$d/index
export GIT_INDEX_FILE
base=$1
shift
git read-tree "$base" && git add -A -- . "$@" >/dev/null &&
git --no-pager diff --binary --no-color --no-ext-diff --no-textconv --cached "$base" -- . "$@"`

// delta writes a patch with all changes since a commit.
func (r repository) delta(ctx context.Context, out *download, q request) error {
	if _, err := r.run(ctx, "rev-parse", "--git-dir"); err != nil {
		if failed(err) {
			return wire.Refuse(http.StatusBadRequest, "Not a git repository: %s", r.dir)
		}
		return err
	}
	base, name, err := r.deltaBase(ctx, q.base)
	if err != nil {
		return err
	}
	if base != emptyTree {
		out.header().Set("X-Archive-Base-Commit", base)
		out.header().Set("X-Archive-Base-Ref", url.PathEscape(name))
	}
	err = r.boxes.Shell(ctx, r.dir, out, deltaScript, append([]string{base}, pathspecs(q.excludes)...)...)
	if err != nil {
		return fmt.Errorf("make a patch of %s: %w", r.dir, err)
	}
	return nil
}

// deltaBase finds the commit that a patch is against, and reports how it was found.
func (r repository) deltaBase(ctx context.Context, name string) (commit, how string, err error) {
	if name != "" {
		commit, err := r.resolve(ctx, name)
		if failed(err) {
			err = wire.Refuse(http.StatusBadRequest, "base_ref '%s' could not be resolved", name)
		}
		return commit, name, err
	}
	if branch, err := r.run(ctx, "rev-parse", "--abbrev-ref", "HEAD"); err == nil && branch == "HEAD" {
		if head := r.parse(ctx, "HEAD"); head != "" {
			return head, "auto", nil // the user checked out this commit, and its changes are wanted
		}
	}
	return r.base(ctx), "auto", nil
}

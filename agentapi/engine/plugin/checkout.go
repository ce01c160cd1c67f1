package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// gitIdle is how long git may be idle, as in [sandbox.AskPatiently].
const gitIdle = 30 * time.Second

// Errors in words for people.
var (
	errNoRef  = &Error{RefNotFound, "its repository has no such ref; give a branch, a tag, or a whole commit id"}
	errBadRef = &Error{RefNotFound, "its ref is not the name of a branch, a tag or a commit"}
	errSlow   = &Error{Timeout, "git did not end in time; check that the disk of its repository answers"}
)

// Patterns of refs.
var (
	validRef = pattern.Of(`^[\p{L}\p{N}_][\p{L}\p{N}_./+@#-]*$`)
	commitID = pattern.Of(`^[0-9a-fA-F]{40}$`)
	unnamed  = pattern.Of(`[^a-zA-Z0-9_]+`)
)

// IsRepository reports whether a directory is a git repository, with files or without.
func IsRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// checkout fetches a commit of a repository of this machine and checks it out in an empty
// directory. An empty ref is what the repository has checked out itself.
//
// Git runs without any configuration of the user, so no filter and no hook runs, and with
// the protocol of files only. The repository's own upload-pack may use none: what is
// missing in a partial clone is not fetched.
func (g git) checkout(ctx context.Context, repository, ref string) (commit string, err error) {
	if commit, err = g.prepare(ctx, repository, ref); err != nil {
		return "", err
	}
	return commit, g.files(ctx, commit)
}

// prepare makes a repository in the directory, and fetches a ref.
func (g git) prepare(ctx context.Context, repository, ref string) (commit string, err error) {
	if _, err := g.run(ctx, "init", "--quiet", "--template="); err != nil {
		return "", slow(ctx, err, &Error{Unavailable, "git does not run: " + err.Error()})
	}
	return g.fetch(ctx, repository, ref)
}

// files checks a commit out, and removes the repository.
func (g git) files(ctx context.Context, commit string) error {
	if _, err := g.run(ctx, "checkout", "--quiet", "--force", "--detach", commit); err != nil {
		return slow(ctx, err, &Error{Unavailable, "git cannot check it out"})
	}
	if err := os.RemoveAll(filepath.Join(g.dir, ".git")); err != nil {
		return &Error{Unavailable, "its checkout cannot be completed; check that the disk has free space"}
	}
	return measure(g.dir)
}

// slow chooses the error of a call of git: that git took too long, that the caller ended,
// or other.
func slow(ctx context.Context, err, other error) error {
	if errors.Is(err, sandbox.ErrNoAnswer) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errSlow
	}
	return cmp.Or(ctx.Err(), other)
}

// isOwnDir reports whether a path is a directory, and not a link to one.
func isOwnDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

type git struct{ dir, path string }

func (g git) run(ctx context.Context, args ...string) (string, error) {
	out, err := sandbox.AskPatiently(ctx, sandbox.Program{
		Args: append([]string{"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0"}, args...), Dir: g.dir,
		Env: []string{
			"PATH=" + g.path, "HOME=" + g.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=file",
		},
	}, gitIdle)
	return strings.TrimSpace(string(out)), err
}

// fetch fetches a ref, and returns its commit.
func (g git) fetch(ctx context.Context, repository, ref string) (string, error) {
	names, err := candidates(ref)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if _, err := g.run(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1",
			"--upload-pack=GIT_ALLOW_PROTOCOL=none git-upload-pack", "--", repository, name); err != nil {
			if err := slow(ctx, err, nil); err != nil {
				return "", err
			}
			continue
		}
		commit, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
		if err == nil && commitID().MatchString(commit) {
			return commit, nil
		}
	}
	if ref == "" {
		return "", &Error{Unavailable, "git cannot read its repository, or there is no commit in it"}
	}
	return "", errNoRef
}

// candidates lists the names that a ref may have in the repository, in OpenHands' order.
func candidates(ref string) ([]string, error) {
	switch {
	case ref == "":
		return []string{"HEAD"}, nil
	case ref == "HEAD", !validRef().MatchString(ref), strings.Contains(ref, ".."), strings.Contains(ref, "@{"):
		return nil, errBadRef
	case commitID().MatchString(ref):
		return []string{strings.ToLower(ref)}, nil
	}
	for _, prefix := range []string{"origin/", "refs/remotes/origin/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return []string{"refs/heads/" + short}, nil
		}
	}
	if strings.HasPrefix(ref, "refs/") {
		return []string{ref}, nil
	}
	return []string{"refs/heads/" + ref, "refs/tags/" + ref}, nil
}

// shortName is the name that OpenHands gives to a repository.
func shortName(repository string) string {
	name := strings.TrimSuffix(filepath.Base(repository), ".git")
	name = strings.Trim(unnamed().ReplaceAllString(name, "-"), "-")
	if name = name[:min(len(name), 32)]; name == "" {
		name = "repo"
	}
	return name
}

// cacheName is the name that OpenHands gives to the directory of a repository.
func cacheName(repository string) string {
	sum := sha256.Sum256([]byte("file://" + filepath.ToSlash(repository)))
	return shortName(repository) + "-" + hex.EncodeToString(sum[:])[:16]
}

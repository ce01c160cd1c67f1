package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	errNoRef  = errors.New("its repository has no such ref; give a branch, a tag, or a whole commit id")
	errBadRef = errors.New("its ref is not the name of a branch, a tag or a commit")
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

// Checkout has the files of a commit of a repository of this machine in a directory below
// cache, and returns that. Such a directory never changes, and is where OpenHands keeps
// it, too. An empty ref is what the repository has checked out itself.
//
// Git runs without any configuration of the user, so no filter and no hook runs, and with
// the protocol of files only. The repository's own upload-pack may use none: what is
// missing in a partial clone is not fetched.
func Checkout(ctx context.Context, repository, ref, cache, path string) (string, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("its place in %s cannot be made", cache)
	}
	dir, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return "", fmt.Errorf("its place in %s cannot be made", cache)
	}
	defer os.RemoveAll(dir)
	g := git{dir: dir, path: path}
	if _, err := g.run(ctx, "init", "--quiet", "--template="); err != nil {
		return "", fmt.Errorf("git does not run: %w", err)
	}
	commit, err := g.fetch(ctx, repository, ref)
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, cacheName(repository), "resolved-refs", commit)
	if isDir(target) {
		return target, nil
	}
	if _, err := g.run(ctx, "checkout", "--quiet", "--force", "--detach", commit); err != nil {
		return "", errors.New("git cannot check it out")
	}
	err = errors.Join(os.RemoveAll(filepath.Join(dir, ".git")), os.MkdirAll(filepath.Dir(target), 0o700))
	if err == nil {
		err = os.Rename(dir, target)
	}
	if err != nil && !isDir(target) { // another may have made it meanwhile
		return "", fmt.Errorf("its place in %s cannot be made", cache)
	}
	return target, nil
}

func isDir(path string) bool {
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
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			continue
		}
		commit, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
		if err == nil && commitID().MatchString(commit) {
			return commit, nil
		}
	}
	if ref == "" {
		return "", errors.New("git cannot read its repository, or there is no commit in it")
	}
	return "", errNoRef
}

// candidates are the names that a ref may have in the repository, in OpenHands' order.
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

// cacheName is the name that OpenHands gives to the directory of a repository.
func cacheName(repository string) string {
	name := strings.TrimSuffix(filepath.Base(repository), ".git")
	name = strings.Trim(unnamed().ReplaceAllString(name, "-"), "-")
	if name = name[:min(len(name), 32)]; name == "" {
		name = "repo"
	}
	sum := sha256.Sum256([]byte("file://" + filepath.ToSlash(repository)))
	return name + "-" + hex.EncodeToString(sum[:])[:16]
}

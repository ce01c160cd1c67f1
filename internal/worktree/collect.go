package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Kept is what an agent has left in its tree.
type Kept struct {
	Branch string // that has its changes; "": it changed nothing, or everything was merged
	// Why says why the tree was not removed, and Dir is where it is; "": it was removed.
	Why, Dir string
}

// Collect commits what is in the tree, brings it to the branch and removes the tree. Files
// that .gitignore excludes are not kept. Where something else cannot be kept, the tree stays
// as it is. It is called after all programs in the tree have ended.
func (t Tree) Collect(ctx context.Context, author, subject string) (Kept, error) {
	if !t.Left() {
		return Kept{}, t.remove()
	}
	stays := Kept{Why: "its changes could not be committed", Dir: t.Dir}
	tip, why, err := t.commit(ctx, author, subject)
	if err != nil {
		return stays, err
	}
	branch, err := t.fetch(ctx, tip)
	if err != nil {
		return stays, err
	}
	if why != "" {
		return Kept{Branch: branch, Why: why, Dir: t.Dir}, nil
	}
	return Kept{Branch: branch}, t.remove()
}

// commit commits what is in the tree. why says what of it the newest commit does not have.
func (t Tree) commit(ctx context.Context, author, subject string) (tip, why string, err error) {
	objects, err := t.Objects()
	if err != nil {
		return "", "", err
	}
	s, err := t.open(ctx, t.Dir, objects)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := t.unlock(); err != nil {
		return "", "", err
	}
	if _, err := s.git(ctx, "add", "--all"); err != nil {
		if _, failed := errors.AsType[*gitError](err); !failed {
			return "", "", err
		}
		why = "git cannot add some of the files"
		_, _ = s.git(ctx, "add", "--all", "--ignore-errors") // It fails again; what can be added is.
	}
	if !s.yes(ctx, "diff", "--cached", "--quiet", "--no-ext-diff") {
		_, err = s.git(ctx, "-c", "user.name="+author, "-c", "user.email=ohgw@localhost", "commit", "--quiet", "--no-verify", "--allow-empty-message", "-m", subject)
		if err != nil {
			return "", "", err
		}
	}
	if tip, err = s.git(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil || why != "" {
		return tip, why, err
	}
	why, err = t.apart(ctx, s)
	return tip, why, err
}

// unlock removes the locks of a git that was killed. No other one runs.
func (t Tree) unlock() error {
	root, err := os.OpenRoot(filepath.Join(t.Dir, ".git"))
	if err != nil {
		return err
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		_ = root.RemoveAll(name) // Where one stays, git fails and says so.
	}
	return root.Close()
}

// apart finds what only the tree has although it has no changes: other branches, and
// repositories in it.
func (t Tree) apart(ctx context.Context, s *shop) (why string, err error) {
	refs, err := s.git(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "--no-merged=HEAD", heads, "refs/stash")
	if err != nil {
		return "", err
	}
	if refs != "" {
		return "it has other branches or stashed changes", nil
	}
	list, err := s.git(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for entry := range strings.SplitSeq(list, "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(about, "160000 ") {
			continue
		}
		if _, err := root.Lstat(filepath.FromSlash(name) + "/.git"); err == nil {
			return "it has another repository in it", nil
		}
	}
	return "", nil
}

// fetch brings a commit of the tree to a branch of the repository, and returns the branch;
// "" if the repository has the commit checked out, or on a branch that is not the tree's.
func (t Tree) fetch(ctx context.Context, tip string) (branch string, err error) {
	from, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return "", err
	}
	s, err := t.open(ctx, t.Repository, from)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.yes(ctx, "merge-base", "--is-ancestor", tip, "HEAD") {
		return "", nil
	}
	all := names(t.Branch)
	found, err := s.branches(ctx, all)
	if err != nil {
		return "", err
	}
	for _, name := range all {
		if found[name] != "" && s.yes(ctx, "merge-base", "--is-ancestor", tip, found[name]) {
			return name, nil
		}
	}
	// The error is that the repository does not have the commit.
	if other, err := s.git(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "--contains="+tip); err == nil && other != "" {
		return "", nil
	}
	var failed error
	for _, name := range all {
		// Without a plus sign, git moves a branch forward only, and none that is checked out.
		_, failed = s.git(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", from, "HEAD:"+heads+name)
		if failed == nil {
			return name, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	return "", fmt.Errorf("no branch could be made: %w", failed)
}

// notName are the characters that a part of a branch's name does not have here.
var notName = pattern.Of(`[^A-Za-z0-9_-]+`)

// Part makes a text a part of the name of a branch.
func Part(text string) string {
	const most = 60
	part := strings.Trim(notName().ReplaceAllString(text, "-"), "-")
	if len(part) > most {
		part = strings.Trim(part[:most], "-")
	}
	if part == "" {
		return "x"
	}
	return part
}

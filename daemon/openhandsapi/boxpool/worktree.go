package boxpool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
)

// worktrees is the directory of the worktrees that conversations have asked for.
func (pool *Pool) worktrees() string { return filepath.Join(pool.Dir, "worktrees") }

// Worktree makes a git worktree for a conversation in a directory of a repository, with a
// branch of its own. In a directory of none it returns that.
//
// Git runs in boxes only, so none of the repository's own programs can get out: the files
// that make a directory a worktree are written here, and the box of that directory checks
// the files out.
func (pool *Pool) Worktree(ctx context.Context, conversation, dir string) (conversations.Worktree, error) {
	none := conversations.Worktree{Dir: dir}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return none, fmt.Errorf("find the workspace: %w", err)
	}
	root, err := pool.git(ctx, real, "rev-parse", "--show-toplevel")
	if err != nil || root == "" {
		return none, exceptExit(err)
	}
	if root, err = filepath.EvalSymlinks(filepath.FromSlash(root)); err != nil {
		return none, fmt.Errorf("find the repository: %w", err)
	}
	inside, ok := subpath.Rel(root, real)
	if !ok {
		return none, refusedWorktree("git says that it is in another directory: " + root)
	}
	start := pool.startPoint(ctx, root)
	made := conversations.Worktree{Root: filepath.Join(pool.worktrees(), conversation, filepath.Base(root)), Branch: "openhands/" + conversation}
	made.Dir = filepath.Join(made.Root, inside)
	if err := link(root, made.Root, conversation, made.Branch); err != nil {
		return none, err
	}
	if start != "" {
		if _, err := pool.git(ctx, made.Root, "reset", "--hard", "--quiet", start); err != nil {
			return none, errors.Join(fmt.Errorf("check out %s: %w", start, err), unlink(root, made.Root, conversation))
		}
	}
	return made, os.MkdirAll(made.Dir, 0o750)
}

// exceptExit returns err if git could not be run at all; nil if git ran and failed.
func exceptExit(err error) error {
	if _, failed := errors.AsType[*sandbox.ExitError](err); failed {
		return nil
	}
	return err
}

func refusedWorktree(why string) error {
	return pydantic.Refuse(pydantic.Value("no git worktree can be made here: "+why).At([]any{"body", "worktree"}, true))
}

// git is what git prints, without white space around it.
func (pool *Pool) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := pool.Git(ctx, dir, args...)
	return strings.TrimSpace(string(out)), err
}

// startPoint is the commit that a worktree begins with: the default branch of origin as
// it was fetched last, else main or master, else HEAD; "" if there is no commit yet.
func (pool *Pool) startPoint(ctx context.Context, root string) string {
	names := []string{"refs/heads/main", "refs/heads/master", "HEAD"}
	if origin, err := pool.git(ctx, root, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil && strings.HasPrefix(origin, "refs/remotes/origin/") {
		names = append([]string{origin}, names...)
	}
	for _, name := range names {
		if commit, err := pool.git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err == nil && commit != "" {
			return commit
		}
	}
	return ""
}

// link makes a directory a worktree of the repository at root, on a branch that has no
// commit yet. What the repository is at root is believed: links in it lead nowhere else.
func link(root, at, name, branch string) error {
	if info, err := os.Lstat(filepath.Join(root, ".git")); err != nil || !info.IsDir() {
		return refusedWorktree("it is a worktree or a submodule itself; use the repository that it belongs to")
	}
	known, err := os.OpenRoot(filepath.Join(root, ".git"))
	if err != nil {
		return fmt.Errorf("open the repository: %w", err)
	}
	defer func() { _ = known.Close() }() // it was written to by other handles
	if err := paths.MakePrivate(at); err != nil {
		return err
	}
	own := "worktrees/" + name
	err = errors.Join(known.MkdirAll("worktrees", 0o777), known.Mkdir(own, 0o777)) // as git makes them
	for file, text := range map[string]string{
		"HEAD": "ref: refs/heads/" + branch + "\n", "commondir": "../..\n", "gitdir": filepath.ToSlash(filepath.Join(at, ".git")) + "\n",
	} {
		if err == nil {
			err = known.WriteFile(own+"/"+file, []byte(text), 0o666) // the same
		}
	}
	if err == nil {
		text := "gitdir: " + filepath.ToSlash(filepath.Join(root, ".git", own)) + "\n"
		err = os.WriteFile(filepath.Join(at, ".git"), []byte(text), 0o600)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrExist) {
			err = errors.Join(err, unlink(root, at, name))
		}
		return fmt.Errorf("make a worktree of %s: %w", root, err)
	}
	return nil
}

// unlink removes a worktree that did not come about.
func unlink(root, at, name string) error {
	known, err := os.OpenRoot(filepath.Join(root, ".git"))
	if err != nil {
		return fmt.Errorf("open the repository: %w", err)
	}
	return errors.Join(known.RemoveAll("worktrees/"+name), known.Close(), os.RemoveAll(filepath.Dir(at)))
}

// realWorktrees is the directory of the worktrees without links.
func (pool *Pool) realWorktrees() string {
	if real, err := filepath.EvalSymlinks(pool.worktrees()); err == nil {
		return real
	}
	return pool.worktrees()
}

// worktreeAt is the worktree that a directory is in: each has a directory in that of its
// conversation.
func (pool *Pool) worktreeAt(dir string) string {
	all := pool.realWorktrees()
	rel, ok := subpath.Rel(all, dir)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if !ok || len(parts) < 2 {
		return dir
	}
	return filepath.Join(all, parts[0], parts[1])
}

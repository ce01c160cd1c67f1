package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/paths"
)

// facts are what a tree is made of.
type facts struct {
	start    string // the commit
	format   string // of the names of objects
	identity [][2]string
}

// Begin makes the tree, with the files of its branch; where there is none yet, or where it
// was merged, with those of the commit that is checked out in the repository. A tree that
// was left by a process that has ended is taken up as it is.
func (t Tree) Begin(ctx context.Context) error {
	objects, err := t.Objects()
	if err != nil {
		return err
	}
	if t.Left() {
		return nil
	}
	if err := t.remove(); err != nil { // it was not finished: no agent has worked in it
		return err
	}
	f, err := t.look(ctx)
	if err != nil {
		return err
	}
	files, err := copiedFrom(filepath.Dir(objects))
	if err != nil {
		return err
	}
	if err := paths.MakePrivate(t.Dir); err != nil {
		return err
	}
	if err := t.fill(ctx, f, objects, files); err != nil {
		return errors.Join(err, t.remove())
	}
	return os.WriteFile(t.mark(), nil, 0o600)
}

// look asks the repository what the tree begins with.
func (t Tree) look(ctx context.Context) (f facts, err error) {
	s, err := t.open(ctx, t.Repository)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	head, err := s.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if failed, ok := errors.AsType[*gitError](err); ok {
		if failed.said == "" {
			return f, &Error{Msg: "the git repository of the workspace has no commit yet; commit its files first: git add -A && git commit", Err: err}
		}
		return f, &Error{Msg: "git cannot read the repository of the workspace", Err: err}
	}
	if err != nil {
		return f, err
	}
	if f.format, err = s.git(ctx, "rev-parse", "--show-object-format"); err != nil {
		return f, err
	}
	if f.start, err = t.start(ctx, s, head); err != nil {
		return f, err
	}
	for _, name := range []string{"user.name", "user.email"} {
		if value, err := s.git(ctx, "config", "--local", "--get", name); err == nil { // the error is that there is none
			f.identity = append(f.identity, [2]string{name, value})
		}
	}
	return f, nil
}

// start finds the commit that the tree begins with.
func (t Tree) start(ctx context.Context, s *shop, head string) (string, error) {
	for _, branch := range append([]string{t.Branch}, t.Older...) {
		all := names(branch)
		found, err := s.branches(ctx, all)
		if err != nil {
			return "", err
		}
		for _, name := range slices.Backward(all) {
			commit, ok := found[name]
			if !ok {
				continue
			}
			if s.yes(ctx, "merge-base", "--is-ancestor", commit, head) {
				return head, nil
			}
			return commit, nil
		}
	}
	return head, nil
}

// copied are the files of the repository that the tree gets, too: where its history ends if
// that is shallow, and what is ignored besides .gitignore.
var copied = [...]string{"shallow", "info/exclude"}

// maxCopied bounds each of them, in bytes.
const maxCopied = 4 << 20

// copiedFrom reads these files as far as they are there. No link leads out of the repository.
func copiedFrom(gitDir string) (map[string][]byte, error) {
	root, err := os.OpenRoot(gitDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	files := map[string][]byte{}
	for _, name := range copied {
		info, err := root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxCopied) {
			err = &Error{Msg: "the file .git/" + name + " of the repository is too large, or not a file"}
		}
		if err == nil {
			files[name], err = root.ReadFile(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fill makes the empty directory of the tree a repository, and checks the files out.
func (t Tree) fill(ctx context.Context, f facts, objects string, files map[string][]byte) (err error) {
	s, err := t.open(ctx, t.Dir, objects)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.git(ctx, "init", "--quiet", "--template=", "--object-format="+f.format); err != nil {
		return err
	}
	if err := borrow(filepath.Join(t.Dir, ".git"), objects, files); err != nil {
		return fmt.Errorf("make a worktree of %s: %w", t.Repository, err)
	}
	commands := [][]string{{"symbolic-ref", "HEAD", heads + t.Branch}}
	for _, setting := range f.identity {
		commands = append(commands, []string{"config", setting[0], setting[1]})
	}
	for _, args := range commands {
		if _, err := s.git(ctx, args...); err != nil {
			return err
		}
	}
	_, err = s.git(ctx, "reset", "--hard", "--quiet", f.start)
	if failed, ok := errors.AsType[*gitError](err); ok {
		return &Error{Msg: "git cannot check out the commit there; a repository without all of its objects cannot be used", Err: failed}
	}
	return err
}

// borrow has a repository use the objects of another one. No agent has worked in it yet.
func borrow(gitDir, objects string, files map[string][]byte) error {
	if strings.ContainsAny(objects, "\n\"") {
		return &Error{Msg: "the path of the workspace has a line break or a quotation mark in it, which git cannot use here"}
	}
	root, err := os.OpenRoot(gitDir)
	if err != nil {
		return err
	}
	err = errors.Join(root.MkdirAll("info", 0o700), root.MkdirAll("objects/info", 0o700),
		root.WriteFile("objects/info/alternates", []byte(filepath.ToSlash(objects)+"\n"), 0o600))
	for name, data := range files {
		err = errors.Join(err, root.WriteFile(name, data, 0o600))
	}
	return errors.Join(err, root.Close())
}

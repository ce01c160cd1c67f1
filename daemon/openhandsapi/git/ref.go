package git

import (
	"context"
	"strings"
)

// emptyTree is what a repository without commits is compared with.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// resolve is the commit that a client has named. HEAD of a repository without commits
// is the empty tree.
func (r repository) resolve(ctx context.Context, name string) (string, error) {
	commit, err := r.run(ctx, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if failed(err) && name == "HEAD" {
		return emptyTree, nil
	}
	return commit, err
}

// base finds the commit that shows best what was changed here, as an agent-server finds
// it: what was pushed of this branch, else where it left the default branch, else HEAD.
func (r repository) base(ctx context.Context) string {
	head := r.parse(ctx, "HEAD")
	branch, err := r.run(ctx, "rev-parse", "--abbrev-ref", "HEAD")
	if err != nil || branch == "HEAD" {
		branch = ""
	}
	if branch != "" {
		if pushed := r.parse(ctx, "refs/remotes/origin/"+branch); pushed != "" && (pushed != head || r.dirty(ctx)) {
			return pushed
		}
	}
	if main := r.remoteDefault(ctx); main != "" {
		if fork, err := r.run(ctx, "merge-base", "HEAD", main); err == nil && fork != "" {
			return fork
		}
		if tip := r.parse(ctx, main); tip != "" {
			return tip
		}
	} else if fork := r.localFork(ctx, branch); fork != "" {
		return fork
	}
	if head != "" {
		return head
	}
	return emptyTree
}

// dirty says that something that git knows was changed since the last commit.
func (r repository) dirty(ctx context.Context) bool {
	status, err := r.run(ctx, "status", "--porcelain", "--untracked-files=no")
	return err != nil || status != ""
}

// remoteDefault is the default branch of origin; "" if it has none. Without a record of
// it, origin is not asked over the network, where an agent-server does: the usual names
// are tried.
func (r repository) remoteDefault(ctx context.Context) string {
	name, err := r.run(ctx, "rev-parse", "--abbrev-ref", "origin/HEAD")
	if err == nil && strings.HasPrefix(name, "origin/") && name != "origin/HEAD" {
		return name
	}
	for _, name := range []string{"origin/main", "origin/master"} {
		if r.parse(ctx, "refs/remotes/"+name) != "" {
			return name
		}
	}
	return ""
}

// localFork finds where a branch left main or master in a repository without origin.
func (r repository) localFork(ctx context.Context, branch string) string {
	for _, name := range []string{"main", "master"} {
		tip := r.parse(ctx, "refs/heads/"+name)
		if tip == "" {
			continue
		}
		if name == branch {
			return ""
		}
		if fork, err := r.run(ctx, "merge-base", "HEAD", name); err == nil && fork == tip {
			return fork
		}
		return ""
	}
	return ""
}

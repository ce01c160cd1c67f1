// Package gitguard finds the files by which a git repository runs programs, and
// watches for those that would redirect git.
//
// A program in the workspace may commit, but may not change what git runs later,
// outside. Find says what is read-only in a box. A file that does not exist cannot
// be read-only, so a [Watcher] removes the two that would replace the configuration:
// commondir and config.worktree. Worktrees, submodules and other repositories that are
// added to the repository are looked at, too: git reads their settings by itself.
package gitguard

// Guards are what a workspace's repository needs.
type Guards struct {
	Write   []string // git directories outside of the workspace that git has to write
	Protect []string // files and directories that are read-only
	Watch   []string // directories in which a planted file is removed
	// Repository is the one to which programs may add worktrees and others.
	Repository Repository
}

// Repository is a repository as it was when its guards were found.
type Repository struct {
	Dir   string          // its git directory, with those of its worktrees and submodules; "" if there is none
	Tree  string          // the workspace
	Index string          // that of the workspace
	known map[string]bool // git directories, and files .git, that were there
	never []string        // what a configuration names and is not there, below the tree
}

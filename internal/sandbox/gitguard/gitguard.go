// Package gitguard finds the files by which a git repository runs programs, and
// watches for those that would redirect git.
//
// A program in the workspace may commit, but may not change what git runs later,
// outside. Find says what is read-only in a box. A file that does not exist cannot
// be read-only, so a [Watcher] removes the two that would replace the configuration:
// commondir and config.worktree.
package gitguard

// Guards are what a workspace's repository needs.
type Guards struct {
	Write   []string // git directories outside of the workspace that git has to write
	Protect []string // files and directories that are read-only
	Watch   []string // directories in which a planted file is removed
}

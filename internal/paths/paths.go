// Package paths says where ohgw keeps its files: in a directory of its own
// below each of the directories that the system has for programs.
//
// It decides and makes directories; it reads and writes no file, and it does
// not read the environment. Invariant: every directory is ohgw's own (its last
// element is "ohgw" or below that), so nothing here ever changes the mode of a
// directory that others share.
package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Base is the directories that a user's programs share. A path that is empty
// or relative does not count.
type Base struct {
	Home    string
	Config  string // such as ~/.config
	State   string // such as ~/.local/state
	Runtime string // such as /run/user/1000

	// RuntimeChosen means that the user named Runtime: it is made when it is
	// missing. Otherwise it is a guess, and counts only if it is there.
	RuntimeChosen bool
}

// Set is the directories of ohgw for one user. They need not exist.
type Set struct {
	Home    string // of the user; "" when the environment does not have it
	Config  string // what the user writes
	State   string // what ohgw must remember: tokens, workspaces, records
	Runtime string // what holds only while the daemon runs: address, lock
}

// ErrNoHome says that the environment names no place for files.
var ErrNoHome = errors.New("cannot find the home directory: HOME is not set")

// New finds the directories. Without a runtime directory of the system, or
// where that is the state directory too (macOS, Windows), it is one below the
// state directory, which is private to the user as well.
func New(base Base) (Set, error) {
	if !filepath.IsAbs(base.Config) || !filepath.IsAbs(base.State) {
		return Set{}, ErrNoHome
	}
	set := Set{Home: base.Home, Config: filepath.Join(base.Config, "ohgw"), State: filepath.Join(base.State, "ohgw")}
	set.Runtime = filepath.Join(set.State, "run")
	if filepath.IsAbs(base.Runtime) && filepath.Clean(base.Runtime) != filepath.Clean(base.State) && (base.RuntimeChosen || isDir(base.Runtime)) {
		set.Runtime = filepath.Join(base.Runtime, "ohgw")
	}
	return set, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ConfigFile is the config file that is used when none is named.
func (s Set) ConfigFile() string { return filepath.Join(s.Config, "config.toml") }

// ServeLog is the log of a daemon in the background, and of one that launchd runs.
func (s Set) ServeLog() string { return filepath.Join(s.State, "serve.log") }

// Workspaces is where conversations work that were given no other place.
func (s Set) Workspaces() string { return filepath.Join(s.State, "workspaces") }

// MakePrivate makes dir and what is above it, for the user only. A directory
// that others may write to is refused: they could put their own files in the
// place of ours.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if runtime.GOOS == "windows" {
		return nil // mode bits mean nothing there
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("directory %s is writable by other users (mode %04o): %w", dir, info.Mode().Perm(), fs.ErrPermission)
	}
	return nil
}

// Package paths says where ohgw keeps its files: the XDG directories, and
// their like on Windows.
//
// It decides and makes directories; it reads and writes no file. Invariant:
// every directory is ohgw's own (its last element is "ohgw" or below that), so
// nothing here ever changes the mode of a directory that others share.
package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Set is the directories of one user. They need not exist.
type Set struct {
	Home    string // of the user; "" when the environment does not say
	Config  string // what the user writes
	State   string // what ohgw must remember: tokens, workspaces, records
	Runtime string // what holds only while the daemon runs: address, lock
}

// ErrNoHome says that the environment names no place for files.
var ErrNoHome = errors.New("no home directory in the environment")

// New finds the directories for the system goos (see runtime.GOOS). Relative
// XDG paths are ignored, as the XDG specification demands. Without a runtime
// directory, the state directory has it: that is private to the user as well.
func New(getenv func(string) string, goos string) (Set, error) {
	home := getenv("HOME")
	config, state := filepath.Join(home, ".config"), filepath.Join(home, ".local", "state")
	if goos == "windows" {
		home = getenv("USERPROFILE")
		config, state = getenv("APPDATA"), getenv("LOCALAPPDATA")
	}
	pick := func(variable, fallback string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "ohgw")
		}
		if home == "" || fallback == "" {
			return ""
		}
		return filepath.Join(fallback, "ohgw")
	}
	set := Set{Home: home, Config: pick("XDG_CONFIG_HOME", config), State: pick("XDG_STATE_HOME", state)}
	if set.Config == "" || set.State == "" {
		return Set{}, ErrNoHome
	}
	set.Runtime = pick("XDG_RUNTIME_DIR", "")
	if set.Runtime == "" {
		set.Runtime = filepath.Join(set.State, "run")
	}
	return set, nil
}

// ConfigFile is the config file that is used when none is named.
func (s Set) ConfigFile() string { return filepath.Join(s.Config, "config.toml") }

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
		return fmt.Errorf("directory %s may be written by other users (mode %04o): %w", dir, info.Mode().Perm(), fs.ErrPermission)
	}
	return nil
}

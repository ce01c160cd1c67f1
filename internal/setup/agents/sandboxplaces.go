package agents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/workdir"
)

// namedSockets are the sockets that need no path.
var namedSockets = []string{"ssh-agent", "gpg-agent", "docker"}

// sandboxReader reads the settings of the sandbox, and knows this machine.
type sandboxReader struct {
	settings *config.Settings
	home     string   // as it is in paths; "" if there is none
	realHome string   // without symbolic links
	private  []string // directories and files of ohgw and OpenHands, without symbolic links
}

// place is a path in a setting.
type place struct {
	setting string // for errors: the key and where it is, a flag or a variable
	text    string // as it was written
	path    string // absolute, without symbolic links; it exists
}

func newSandboxReader(env *setup.Env, s *config.Settings) (*sandboxReader, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	r := &sandboxReader{settings: s, home: dirs.Home}
	private := []string{dirs.Config, dirs.State, dirs.Runtime, s.File}
	if r.home != "" {
		r.realHome = realPath(r.home)
		private = append(private, filepath.Join(r.home, ".openhands"))
	}
	for _, at := range private {
		if filepath.IsAbs(at) {
			r.private = append(r.private, realPath(at))
		}
	}
	return r, nil
}

// realPath is a path without symbolic links, as far as it exists.
func realPath(at string) string {
	at = filepath.Clean(at)
	real, err := filepath.EvalSymlinks(at)
	if err == nil {
		return real
	}
	dir := filepath.Dir(at)
	if dir == at {
		return at
	}
	return filepath.Join(realPath(dir), filepath.Base(at))
}

// name is the setting that an item came from.
func (r *sandboxReader) name(workspace, key, item string) string {
	if workspace != "" {
		return tableOf(workspace) + strings.TrimPrefix(key, "sandbox") + " in " + r.settings.File
	}
	return r.settings.SourceOf(key, item)
}

func tableOf(workspace string) string { return "sandbox.workspace." + strconv.Quote(workspace) }

// workspace is the directory of a table.
func (r *sandboxReader) workspace(name string) (string, error) {
	at, err := r.place(tableOf(name)+" in "+r.settings.File, name)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return "", invalidSandbox(tableOf(name)+" is not a directory", "write the path of the workspace's directory")
	}
	return at, nil
}

// place is a path of the user's, as the manager takes it.
func (r *sandboxReader) place(setting, text string) (string, error) {
	at := text
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if r.home == "" {
			return "", invalidSandbox(setting+" has "+strconv.Quote(text)+", and there is no home directory", "write the full path, or set HOME")
		}
		at = filepath.Join(r.home, rest)
	}
	real, err := filepath.EvalSymlinks(filepath.Clean(at))
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !workdir.NotDir(err) {
		return "", invalidSandbox(setting+": "+err.Error(), "write a path that you can read")
	}
	hint := "create it, or remove the entry"
	if near := nearestPath(filepath.Clean(at)); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "? Otherwise " + hint
	}
	return "", invalidSandbox(setting+" has "+strconv.Quote(text)+", which does not exist", hint)
}

// nearestPath is what exists and has a name like that of a path: its first part
// that does not exist is replaced.
func nearestPath(at string) string {
	dir, rest := filepath.Dir(at), []string{filepath.Base(at)}
	for !exists(dir) && dir != filepath.Dir(dir) {
		rest = append([]string{filepath.Base(dir)}, rest...)
		dir = filepath.Dir(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := suggest.Nearest(rest[0], names)
	if near == "" {
		return ""
	}
	if found := filepath.Join(append([]string{dir, near}, rest[1:]...)...); exists(found) {
		return found
	}
	return filepath.Join(dir, near)
}

func exists(at string) bool {
	_, err := os.Stat(at)
	return err == nil
}

// refuse is the error for a path that may not be in a setting.
func (p place) refuse(why, hint string) error {
	text := strconv.Quote(p.text)
	if p.path != p.text && !strings.HasPrefix(p.text, "~") {
		text += " (" + strconv.Quote(p.path) + ")"
	}
	return invalidSandbox(p.setting+" has "+text+", "+why, hint)
}

// any takes every path but the root directory.
func (r *sandboxReader) any(p place) error {
	if p.path == filepath.Dir(p.path) {
		return p.refuse("which is everything", "write single directories")
	}
	return nil
}

// readable takes what is not private to ohgw and does not contain it.
func (r *sandboxReader) readable(p place) error {
	if err := r.any(p); err != nil {
		return err
	}
	if r.realHome != "" && workdir.Within(p.path, r.realHome) {
		why := "which contains your home directory"
		if p.path == r.realHome {
			why = "which is your home directory with your keys"
		}
		return p.refuse(why, "write single directories in it, such as ~/notes")
	}
	for _, dir := range r.private {
		switch {
		case workdir.Within(dir, p.path):
			return p.refuse("which belongs to ohgw or OpenHands: keys and settings are in "+dir, "write another directory")
		case workdir.Within(p.path, dir):
			return p.refuse("which contains "+dir+" of ohgw or OpenHands", "write single directories in it")
		}
	}
	return nil
}

// writable takes a directory that is neither private nor the system's.
func (r *sandboxReader) writable(p place) error {
	if err := r.readable(p); err != nil {
		return err
	}
	if policy.OfSystem(p.path) {
		return p.refuse("which belongs to the system", "write a directory of your own")
	}
	if info, err := os.Stat(p.path); err != nil || !info.IsDir() {
		return p.refuse("which is not a directory", "write the directory that it is in")
	}
	return nil
}

// socket takes the path of a Unix socket that is not ohgw's.
func (r *sandboxReader) socket(p place) error {
	info, err := os.Stat(p.path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return p.refuse("which is not a Unix socket", "write ssh-agent, gpg-agent, docker or the full path of a socket")
	}
	return r.readable(p)
}

package boxes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// User is whose programs a box is for.
type User struct {
	Home    string   // of the user; "" if the user has none
	State   string   // ohgw's state directory, which gets the box's home directory
	Private []string // more directories of ohgw and OpenHands; never shown
	Environ []string // NAME=value
	// GitConfig is the content of .gitconfig in the box.
	GitConfig string
}

// noHome is the home directory in a box where the user has none.
const noHome = "/run/home"

// Plan makes the default policy for a workspace: a home directory of the box alone,
// kept between the conversations of the workspace, with the user's tools in it. The
// first box makes it. The network is off.
func Plan(u User, workspace string) (policy.Policy, error) {
	p, err := Place(u, workspace)
	if err != nil {
		return p, err
	}
	p = Surround(u, p)
	return p, p.Check()
}

// Place makes the part of the default policy that decides whether there can be a box with
// a workspace. It takes a few system calls; [Surround] adds the rest.
func Place(u User, workspace string) (policy.Policy, error) {
	p := policy.Policy{HomeAt: noHome, Processes: 4096, GitConfig: u.GitConfig}
	var err error
	if p.Workspace, err = directory(workspace); err != nil {
		return p, fmt.Errorf("workspace: %w", err)
	}
	if real, err := directory(u.Home); err == nil && real != "/" {
		p.HomeAt = real
		if subpath.Within(p.Workspace, real) {
			return p, &HomeError{Workspace: p.Workspace, Home: real}
		}
	}
	if p.Home, err = ownHome(u.State, p.Workspace); err != nil {
		return p, err
	}
	here, err := os.Stat(p.Workspace)
	if err != nil {
		return p, fmt.Errorf("workspace: %w", err)
	}
	for _, dir := range u.closed() {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, here) {
			return p, &PrivateError{p.Workspace}
		}
	}
	return p, p.Check()
}

// Surround adds to a policy of [Place] what of the user's the box shows and hides: the
// directories of programs, which it looks for, and those of ohgw and OpenHands.
func Surround(u User, p policy.Policy) policy.Policy {
	var hide []string
	for _, dir := range u.closed() {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			hide = append(hide, real)
		}
	}
	apart := func(at string) bool {
		return !slices.ContainsFunc(hide, func(hidden string) bool { return subpath.Within(hidden, at) || subpath.Within(at, hidden) })
	}
	links, read := inRun(u.Environ)
	if p.HomeAt != noHome {
		read = append(tools(p.HomeAt, p.Workspace, u.Environ), read...)
	}
	read = slices.DeleteFunc(read, func(at string) bool { return !apart(at) })
	p.Hide, p.Read, p.Links = append(hide, p.Hide...), append(read, p.Read...), links
	return p
}

// closed are the directories of which no box shows anything.
func (u User) closed() []string {
	return slices.DeleteFunc(append([]string{u.State}, u.Private...), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// HomeError says that the workspace has the user's home directory in it.
type HomeError struct{ Workspace, Home string }

func (e *HomeError) Error() string {
	if e.Workspace == e.Home {
		return "the workspace " + e.Workspace + " is your home directory"
	}
	return "the workspace " + e.Workspace + " contains your home directory"
}

// PrivateError says that the workspace is a directory of ohgw or OpenHands, with keys.
type PrivateError struct{ Workspace string }

func (e *PrivateError) Error() string {
	return "the workspace " + e.Workspace + " is the directory in which OpenHands or ohgw keeps its files"
}

// directory resolves the symbolic links in the path of a directory.
func directory(at string) (string, error) {
	if !filepath.IsAbs(at) {
		return "", fmt.Errorf("%q is not an absolute path", at)
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &fs.PathError{Op: "open", Path: real, Err: errors.New("it is not a directory")}
	}
	return real, nil
}

// toolDirs are directories below a home directory that have programs, and no keys.
var toolDirs = []string{
	".rustup", ".cargo/bin", ".pyenv", ".nvm", ".fnm", ".volta", ".bun/bin", ".deno/bin", ".asdf", ".local/share/mise",
	".local/share/fnm", ".local/share/uv/python", ".local/share/uv/tools", ".sdkman", ".dotnet", ".local/bin", ".local/lib", "bin", "go/bin",
}

// toolVariables name directories of tools.
var toolVariables = []string{
	"GOROOT", "JAVA_HOME", "PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "VOLTA_HOME", "FNM_DIR", "ASDF_DATA_DIR", "ASDF_DIR",
	"SDKMAN_DIR", "DOTNET_ROOT", "GEM_HOME", "MISE_DATA_DIR", "VIRTUAL_ENV", "CONDA_PREFIX",
}

// besideBin is what belongs to the programs in a directory bin beside it.
var besideBin = []string{"lib", "lib64", "libexec", "share", "pkg", "src", "include", "VERSION", "go.env", "jmods", "release", "api", "test"}

// tools finds the directories of programs below the home directory.
func tools(home, workspace string, environ []string) []string {
	candidates := make([]string, 0, len(toolDirs))
	for _, dir := range toolDirs {
		candidates = append(candidates, filepath.Join(home, dir))
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH":
			for _, dir := range filepath.SplitList(value) {
				candidates = append(candidates, programDir(home, dir)...)
			}
		case slices.Contains(toolVariables, name):
			candidates = append(candidates, value)
		}
	}
	var found []string
	for _, at := range candidates {
		if _, err := os.Stat(at); err != nil {
			continue // most of them; one system call is less than one for each part of the path
		}
		if real, err := filepath.EvalSymlinks(at); err == nil && shareable(home, workspace, real) {
			found = append(found, real)
		}
	}
	slices.Sort(found)
	var outer []string
	for _, at := range found {
		if !slices.ContainsFunc(outer, func(dir string) bool { return subpath.Within(dir, at) }) {
			outer = append(outer, at)
		}
	}
	return outer
}

// programDir is a directory of PATH, with what its programs need beside it. A tree
// of the user's own, such as ~/.local, has more than that.
func programDir(home, dir string) []string {
	found := []string{dir}
	parent := filepath.Dir(dir)
	if filepath.Base(dir) == "bin" && filepath.Dir(parent) != home {
		for _, name := range besideBin {
			found = append(found, filepath.Join(parent, name))
		}
	}
	return found
}

// notShown are directories of a home directory that have keys, whatever a variable
// says.
var notShown = []string{".ssh", ".gnupg", ".aws", ".config", ".kube", ".docker", ".openhands", ".password-store", ".mozilla"}

// shareable says that a directory is one inside the home directory that can be shown.
func shareable(home, workspace, at string) bool {
	if !subpath.Within(home, at) || at == home || subpath.Within(at, workspace) || subpath.Within(workspace, at) {
		return false
	}
	return !slices.ContainsFunc(notShown, func(name string) bool {
		secret := filepath.Join(home, name)
		return subpath.Within(secret, at) || subpath.Within(at, secret)
	})
}

package boxes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// runDir is a directory that boxes have for themselves: sockets are in it, and on some
// systems programs, too.
const runDir = "/run"

// maxLinks is how many links a path may have, as for the kernel.
const maxLinks = 40

// inRun lists what of /run leads to the directories of PATH and of tools: links, and
// directories with programs. The box has a /run of its own, in which they are shown.
func inRun(environ []string) (links []policy.Link, dirs []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		var named []string
		switch {
		case name == "PATH":
			named = filepath.SplitList(value)
		case slices.Contains(toolVariables, name):
			named = []string{value}
		}
		for _, at := range named {
			found, dir := follow(at)
			for _, link := range found {
				if !slices.Contains(links, link) {
					links = append(links, link)
				}
			}
			if dir != "" && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return links, dirs
}

// follow finds the links below /run by which a path leads to a directory, and the
// directory, if that is below /run, too.
func follow(at string) (links []policy.Link, dir string) {
	if rest, ok := strings.CutPrefix(at, "/var"+runDir+"/"); ok {
		at = filepath.Join(runDir, rest)
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return nil, ""
	}
	at = filepath.Clean(at)
	for range maxLinks {
		if !subpath.Within(runDir, at) {
			return links, ""
		}
		link, rest := firstLink(at)
		if link == "" {
			if parts := strings.Split(at, "/"); len(parts) < 3 || parts[2] == "user" && len(parts) < 5 {
				return links, "" // /run, or where a user's sockets are
			}
			return links, at
		}
		to, err := os.Readlink(link)
		if err != nil {
			return nil, ""
		}
		links = append(links, policy.Link{At: link, To: to})
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		at = filepath.Join(to, rest)
	}
	return nil, ""
}

// firstLink is the first symbolic link in a path below /run, and what follows it.
func firstLink(at string) (link, rest string) {
	parts := strings.Split(strings.TrimPrefix(at, runDir+"/"), "/")
	for i := range parts {
		here := filepath.Join(runDir, filepath.Join(parts[:i+1]...))
		if info, err := os.Lstat(here); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return here, filepath.Join(parts[i+1:]...)
		}
	}
	return "", ""
}

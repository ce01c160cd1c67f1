package hook

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Directory is where the user's programs for hooks are, below OpenHands' directory.
const Directory = "hooks"

// word is a part of a command that may name a file of the home directory.
var word = pattern.Of(`(?:~|\$HOME|\$\{HOME\}|"\$HOME"|"\$\{HOME\}")?/[^\s;|&()<>"'=` + "`" + `$*?]+`)

// plain is a path that a shell takes as it is.
var plain = pattern.Of(`^[\p{L}\p{N}_./+,:@%-]+$`)

// FilesOf finds the programs that the user's own hooks name in the home directory or in
// OpenHands' directory, by the words that name them, and the directory for them. Those of
// a request name none: its client may not read all that the user may.
func FilesOf(hooks hookfile.Config, own bool, home, base string) map[string]string {
	found := map[string]string{}
	if base != "" {
		if at, err := filepath.EvalSymlinks(filepath.Join(base, Directory)); err == nil {
			if info, err := os.Stat(at); err == nil && info.IsDir() {
				found[at] = at
			}
		}
	}
	for _, matchers := range hooks {
		for _, m := range matchers {
			for _, h := range m.Hooks {
				for _, text := range word().FindAllString(h.Command, -1) {
					if at := fileOf(text, home, base, own); at != "" {
						found[text] = at
					}
				}
			}
		}
	}
	return found
}

// fileOf finds the file that a word names, without symbolic links; "" for others.
func fileOf(text, home, base string, own bool) string {
	at := text
	for _, prefix := range []string{"~/", "$HOME/", "${HOME}/", `"$HOME"/`, `"${HOME}"/`} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			at = filepath.Join(home, rest)
		}
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil || !plain().MatchString(real) {
		return ""
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if base != "" && subpath.Within(filepath.Join(base, Directory), at) {
		return at // The directory is shown as it is, with its links.
	}
	if !own || !subpath.Within(home, at) && !subpath.Within(base, at) {
		return ""
	}
	return real
}

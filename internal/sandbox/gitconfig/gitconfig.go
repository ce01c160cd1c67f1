// Package gitconfig makes the git configuration of a sandbox from that of the user:
// who commits, the default branch and line ends. Nothing that runs a program is
// taken over: no alias, no helper, no filter, no signing.
package gitconfig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	// limit is how long git may be idle, as in [sandbox.AskPatiently].
	limit = 5 * time.Second
	// wanted is the pattern of the keys, as git spells them.
	wanted = `^(user\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol|quotepath))$`
)

// Of writes the content of a .gitconfig with what the user has set globally; empty if
// there is nothing, or no git. Settings of a workspace do not count: git is asked in
// an empty directory. home is the user's, environ has NAME=value.
func Of(ctx context.Context, home string, environ []string) string {
	dir, err := os.MkdirTemp("", "ohgw-git-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	env := []string{"HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
	for _, entry := range environ {
		if strings.HasPrefix(entry, "PATH=") || strings.HasPrefix(entry, "XDG_CONFIG_HOME=") {
			env = append(env, entry)
		}
	}
	listed, err := sandbox.AskPatiently(ctx, sandbox.Program{
		Args: []string{"git", "config", "--global", "--includes", "--null", "--get-regexp", wanted}, Env: env, Dir: dir,
	}, limit)
	if err != nil {
		return "" // no git, or nothing is set
	}
	return Format(listed)
}

// Format writes what git prints with --null as a configuration file. Of a key that
// is set several times the last value counts.
func Format(listed []byte) string {
	values := map[string]string{}
	for entry := range bytes.SplitSeq(listed, []byte{0}) {
		key, value, ok := strings.Cut(string(entry), "\n")
		if ok {
			values[key] = value
		}
	}
	var b strings.Builder
	for _, key := range [...]string{"user.name", "user.email", "init.defaultbranch", "core.autocrlf", "core.eol", "core.quotepath"} {
		if value, ok := values[key]; ok {
			section, name, _ := strings.Cut(key, ".")
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, quote(value))
		}
	}
	return b.String()
}

// quote writes a value so that git reads it as it was. Other control characters than
// these cannot be written; git takes none of them in a name.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`, "\r", "").Replace(value) + `"`
}

package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/tui"
)

// decline says where the agent works after the user refused dir, and how to allow it. The
// chat shows it as long as that is so: Enter easily refuses without the user meaning it.
func (c *session) decline(dir, always string, broad bool) {
	name, own := c.tilde(dir), "ohgw's state directory"
	if dirs, err := c.opts.Setup().Dirs(); err == nil {
		own = c.tilde(dirs.Workspaces())
	}
	yes := c.command() + " --workspace ."
	switch {
	case always != "":
		c.elsewhere = fmt.Sprintf("The agent works in %s all the same: it is the workspace of this ohgw. "+
			"ohgw config show, or the command that started the daemon, says where that is set.", c.tilde(always))
		c.away = tui.Where{Dir: c.tilde(always), Branch: workdir.Branch(always)}
		return
	case broad:
		c.elsewhere = fmt.Sprintf("The agent does not work in %s, but in a new, empty directory below %s.\n"+
			"To let it work with your files, run ohgw chat in a project directory.", name, own)
		c.away.Away = []string{"a new directory, not " + name, "not in " + name}
	default:
		c.elsewhere = fmt.Sprintf("The agent does not work in %s, but in a new, empty directory below %s.\n"+
			"To let it work in %s: %s", name, own, name, yes)
		base := filepath.Base(dir)
		c.away.Away = []string{"a new directory, not " + name + " (to work there: " + yes + ")", "not in " + base + ": " + yes, "not in " + base + ": --workspace .", "not in " + base}
	}
	c.declined = dir
}

// left tells, at the end of a chat, of the files that an agent has made in dir, where
// the person may look for them in the directory that was declined.
func (c *session) left(dir string) string {
	dirs, err := c.opts.Setup().Dirs()
	if err != nil || c.declined == "" || dir == "" {
		return ""
	}
	own, err := workdir.Resolve(dirs.Workspaces())
	if err != nil || !subpath.Within(own, dir) {
		return ""
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("The agent's files are in %s, not in %s; they are removed with the conversation.", dir, c.tilde(c.declined))
}

// tilde is a path for people: below the home directory it begins with ~.
func (c *session) tilde(dir string) string {
	dirs, err := c.opts.Setup().Dirs()
	if err != nil {
		return dir
	}
	if home, err := workdir.Resolve(dirs.Home); err == nil && subpath.Within(home, dir) {
		return filepath.Join("~", strings.TrimPrefix(dir, home))
	}
	return dir
}

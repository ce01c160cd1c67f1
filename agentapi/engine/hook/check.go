package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Checker looks at hooks without running them.
type Checker struct {
	Home, Base string
	// Shown reports whether the sandbox of hooks shows a path. Where there is no sandbox,
	// it is true for all.
	Shown func(path string) bool
	// Find finds a program of PATH.
	Find func(name string) (string, error)
}

// Problem is a hook that cannot do its work.
type Problem struct {
	Event, Command string
	Why            string
	Hidden         bool   // the sandbox does not show what it names
	Allow          string // the directory to show, if that can be allowed
	Refuses        bool   // all that it was to look at
}

// program is the first word of a command that begins with a program; others begin with
// what only a shell understands.
var program = pattern.Of(`^\s*(?:"([^"$` + "`" + `\\]+)"|'([^']+)'|([^\s;|&()<>"'=` + "`" + `$*?{}\[\]!#]+))(?:\s|$)`)

// Check finds the hooks of the user that cannot start in their sandbox. Those that a model
// decides start no program.
func (c Checker) Check(hooks hookfile.Config) []Problem {
	files := FilesOf(hooks, true, c.Home, c.Base)
	var found []Problem
	for _, event := range hookfile.Events() {
		for _, m := range hooks[event] {
			for _, h := range m.Hooks {
				if h.Type != hookfile.TypeCommand {
					continue
				}
				p := Problem{Event: event, Command: label(h)}
				var hidden string
				p.Why, hidden, p.Refuses = c.command(h.Command, files)
				p.Refuses = p.Refuses && guards(event)
				p.Hidden, p.Allow = hidden != "", c.directory(hidden)
				if p.Why != "" {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// directory is the one with a path, "" if it cannot be allowed.
func (c Checker) directory(at string) string {
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		at = filepath.Dir(at)
	}
	if subpath.Within(at, c.Home) {
		return ""
	}
	return at
}

// command says why a command cannot start, or which file that it names it does not see.
func (c Checker) command(text string, files map[string]string) (why, hidden string, never bool) {
	line := atHome((&Runner{cfg: Config{Files: files}}).line(text), c.Home)
	if m := program().FindStringSubmatch(line); m != nil {
		if why, hidden = c.program(m[1] + m[2] + m[3]); why != "" {
			return why, hidden, true
		}
	}
	for _, at := range word().FindAllString(line, -1) {
		if _, err := os.Stat(at); err == nil && !c.Shown(at) {
			return fmt.Sprintf("it names %s, which the sandbox does not show", at), at, false
		}
	}
	return "", "", false
}

// atHome has paths in the place of the words for the home directory.
func atHome(line, home string) string {
	line = strings.NewReplacer(`"$HOME"/`, home+"/", `"${HOME}"/`, home+"/", "$HOME/", home+"/", "${HOME}/", home+"/", " ~/", " "+home+"/").Replace(line)
	if rest, ok := strings.CutPrefix(line, "~/"); ok {
		line = home + "/" + rest
	}
	return line
}

// builtIn are words of the shell that are not programs on every system.
var builtIn = pattern.Of(`^(?:\.|:|alias|break|case|cd|command|continue|eval|exec|exit|export|for|if|readonly|return|set|shift|trap|type|ulimit|umask|unset|until|wait|while)$`)

// program says why a program cannot be started.
func (c Checker) program(name string) (why, hidden string) {
	at := name
	switch {
	case builtIn().MatchString(name):
		return "", ""
	case !strings.Contains(name, "/"):
		var err error
		if at, err = c.Find(name); err != nil {
			return fmt.Sprintf("there is no program %s in PATH", name), ""
		}
	case !filepath.IsAbs(name):
		return "", "" // It is of the workspace.
	}
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return at + " does not exist", ""
	case err != nil:
		return err.Error(), ""
	case !info.Mode().IsRegular():
		return at + " is not a file", ""
	case info.Mode()&0o111 == 0:
		return at + " is not executable", ""
	case !c.Shown(at):
		return "the sandbox does not show " + at, at
	}
	return c.interpreter(at)
}

// interpreter says why the interpreter that a script names cannot be started.
func (c Checker) interpreter(script string) (why, hidden string) {
	f, err := os.Open(script)
	if err != nil {
		return "", "" // It is a program that is not to be read.
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReaderSize(f, 512).ReadSlice('\n') // a longer line is not read
	text, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(text)
	if !ok || len(fields) == 0 {
		return "", ""
	}
	at := fields[0]
	if filepath.Base(at) == "env" && len(fields) > 1 && !strings.HasPrefix(fields[1], "-") {
		if at, err = c.Find(fields[1]); err != nil {
			return fmt.Sprintf("the interpreter of %s, %s, is not in PATH", script, fields[1]), ""
		}
	}
	if _, err := os.Stat(at); err != nil {
		return fmt.Sprintf("the interpreter of %s, %s, does not exist", script, at), ""
	}
	if !c.Shown(at) {
		return fmt.Sprintf("the sandbox does not show the interpreter of %s, %s", script, at), at
	}
	return "", ""
}

// guards reports whether a hook for an event refuses by not starting.
func guards(event string) bool {
	return event == hookfile.PreToolUse || event == hookfile.UserPromptSubmit
}

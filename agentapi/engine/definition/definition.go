// Package definition reads agent definitions: Markdown files whose front matter
// names an agent, its tools, its model and its limits. OpenHands finds them in
// the same places and reads the same form.
//
// It runs nothing and looks nothing up. A file that OpenHands would not accept is not a
// definition here either, and a [Problem] reports the line. Files of a project are read
// below the project only: a link cannot lead out of it.
package definition

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
)

// Inherit is the model of a definition that names none.
const Inherit = "inherit"

// The values of Definition.Permission.
const (
	AlwaysConfirm = "always_confirm"
	NeverConfirm  = "never_confirm"
	ConfirmRisky  = "confirm_risky"
)

// Definition is an agent, as its file defines it.
type Definition struct {
	Name        string
	Description string
	Examples    []string // of questions for this agent, out of the description
	Color       string
	Prompt      string // the body of the file: the end of the system prompt
	Model       string // [Inherit], or the name of an LLM profile
	// ProfileDir is a directory of LLM profiles of its own; "" is OpenHands'.
	ProfileDir string
	Tools      []string
	Skills     []string
	Servers    json.RawMessage // MCP servers by name; nil: none
	Hooks      json.RawMessage // by event; nil: none
	Permission string          // "" leaves confirmation to others
	// MaxIterations, MaxBudget, in US dollars, and MaxTokens limit a run; 0: no limit of
	// its own. OpenHands does not know MaxTokens.
	MaxIterations int
	MaxBudget     float64
	MaxTokens     int64
	// Condenser is an object of OpenHands; nil: the usual one. NoCondenser: none at all.
	Condenser   json.RawMessage
	NoCondenser bool
	// Team is what the file of a team has besides; nil for an agent.
	Team *Team
	// Others are the members of the front matter that have no meaning, Metadata their values.
	Others   []string
	Metadata map[string]json.RawMessage

	Path string // of its file
	User bool   // it is in a directory of the user, not of a project

	lines map[string]int // of its fields
}

// Line is where a field of the front matter is in the file; 1 if it is not there.
func (d Definition) Line(field string) int { return max(1, d.lines[field]) }

// ServersField is the field that has the MCP servers.
func (d Definition) ServersField() string {
	if _, ok := d.lines["mcp_config"]; ok {
		return "mcp_config"
	}
	return "mcp_servers"
}

// Problem is something in a file that does not work as written.
type Problem struct {
	Path  string
	Line  int    // 0: the whole file, or a directory
	Agent string // "" if the name is not known
	Msg   string // what is wrong
	Hint  string // what to do about it
	// Unused says that the file defines no agent because of it.
	Unused bool
	// Inert says that it is another file of a workspace than a definition: one that
	// would start something, and was left out.
	Inert bool
	// Newer says that the file is of a newer OpenHands than ohgw knows, which the check of
	// the profiles says, too.
	Newer bool
}

// Dir is a directory with definitions.
type Dir struct {
	// Root is opened as it is, and Place is looked for below it.
	Root, Place string
	// User is for directories of the user, where links may lead anywhere.
	User bool
}

// Path is the directory itself.
func (d Dir) Path() string { return filepath.Join(d.Root, filepath.FromSlash(d.Place)) }

// The places of definitions below a project. The first one is also below the home
// directory; OpenHands' own directory has the place of the user's others.
const (
	Primary   = ".agents/agents"
	Secondary = ".openhands/agents"

	inBase = "agents"
)

// Dirs are the directories for a project, a home directory and OpenHands' directory of the
// user, by precedence; each may be empty.
func Dirs(project, home, base string) []Dir {
	var dirs []Dir
	if project != "" {
		dirs = append(dirs, Dir{Root: project, Place: Primary}, Dir{Root: project, Place: Secondary})
	}
	users := []Dir{{Root: home, Place: Primary, User: true}, {Root: base, Place: inBase, User: true}}
	for _, d := range users {
		if d.Root != "" && !slices.ContainsFunc(dirs, func(other Dir) bool { return other.Path() == d.Path() }) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// Load reads all definitions in the directories, by precedence and then by
// file name. Of two with the same name the first counts. The context ends it early.
func Load(ctx context.Context, dirs ...Dir) ([]Definition, []Problem) {
	return load(ctx, &loader{parse: Parse, noun: "agent", names: make(map[string]string)}, dirs)
}

func load(ctx context.Context, l *loader, dirs []Dir) ([]Definition, []Problem) {
	for _, d := range dirs {
		if ctx.Err() != nil {
			break
		}
		l.directory(ctx, d)
	}
	return l.found, l.problems
}

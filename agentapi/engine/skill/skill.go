// Package skill finds what people have written down for agents: a repository's
// AGENTS.md, skills, rules for certain files. It reads them in the places and
// in the forms that OpenHands knows.
//
// What a repository says is not the user's word. Files are read through
// os.Root, so that a link cannot show the model something outside of the
// directory that was searched, and nothing in them runs but commands in a skill
// of the user's own, when the model asks for it.
package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ohgw/ohgw/agentapi/engine/frontmatter"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Skill is one file of instructions.
type Skill struct {
	Name        string
	Description string
	Body        string
	// Path is where it was read; Dir the directory that belongs to it, for a
	// skill with a directory of its own.
	Path, Dir string
	// Own: it is the user's, from the home directory, and not of a workspace.
	Own bool
	// Always: it is context of every conversation.
	Always bool
	// Triggers are words of the user that call for it.
	Triggers []string
	// Paths are globs of files that it is about.
	Paths []string
	// Invocable: the model is told of it and can read it.
	Invocable bool
}

const (
	maxFile        = 1 << 20 // bytes that are read of a file
	maxSkills      = 500
	maxDescription = 1024 // characters
	maxName        = 64
)

var validName = pattern.Of(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ValidName reports whether a skill that stands alone, or an installed plugin, may have a name.
func ValidName(name string) bool { return validName().MatchString(name) }

// The places of skills below a project, below the home directory, and below OpenHands'
// directory of the user.
var (
	projectDirs = []string{".agents/skills", ".openhands/skills", ".openhands/microagents"}
	homeDirs    = []string{".agents/skills"}
	baseDirs    = []string{"skills", "microagents", installedPlace}

	// ownPlaces have skills that do not belong to the place around them.
	ownPlaces = []string{installedPlace, ".openhands/skills/installed"}
)

const installedPlace = "skills/installed"

// User is where the user's own skills are. A directory that is empty has none.
type User struct {
	Home string // the home directory
	Base string // OpenHands' directory, by default .openhands in the home directory
}

// contextFiles are the files of other agents that are read too: lower-case name
// to the name of the skill.
var contextFiles = map[string]string{
	"agents.md": "agents", "agent.md": "agents", "claude.md": "claude", "gemini.md": "gemini", ".cursorrules": "cursorrules",
}

// Skipped is a file or a directory that could be a skill, but is not one.
type Skipped struct {
	Name   string // of the skill, or of the file
	Path   string
	Reason string // for people
	// Err is what went wrong; nil where another skill of the same name counts.
	Err error
}

// Find reads the skills for a working directory: those of the directory, of
// the repository it is in, and of the user. Without a working directory there are those
// of the user only. Of two with the same name the first counts. What is left out is in
// skipped.
func Find(workspace string, user User) (found []Skill, skipped []Skipped) {
	f := finder{names: map[string]string{}, user: user}
	if workspace != "" {
		f.project(workspace)
	}
	if root := workdir.Repository(workspace); workspace != "" && root != "" && root != filepath.Clean(workspace) {
		f.project(root)
	}
	if user.Home != "" {
		f.root(user.Home, homeDirs, false)
	}
	if user.Base != "" {
		f.root(user.Base, baseDirs, false)
	}
	return f.found, f.skipped
}

type finder struct {
	found   []Skill
	names   map[string]string // of the skills that were found, to their paths
	user    User
	skipped []Skipped
}

// skip notes what is left out, once: the workspace may be the home directory.
func (f *finder) skip(path string, err error) {
	if slices.ContainsFunc(f.skipped, func(s Skipped) bool { return s.Path == path }) {
		return
	}
	name := filepath.Base(path)
	if name == "SKILL.md" {
		name = filepath.Base(filepath.Dir(path))
	}
	reason := "it cannot be read"
	if bad, ok := errors.AsType[*formError](err); ok {
		reason = bad.reason
	}
	f.skipped = append(f.skipped, Skipped{Name: name, Path: path, Reason: reason, Err: fmt.Errorf("read skill %s: %w", path, err)})
}

// formError is a file that does not have the form of a skill.
type formError struct{ reason string }

func (e *formError) Error() string { return e.reason }

func (f *finder) project(dir string) { f.root(dir, projectDirs, true) }

func (f *finder) root(dir string, places []string, context bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.skip(dir, err)
		}
		return
	}
	defer root.Close()
	if context {
		f.contexts(root, dir)
	}
	for _, place := range places {
		f.directory(root, dir, place)
	}
}

// contexts reads AGENTS.md and its like, each file once, whatever its names.
func (f *finder) contexts(root *os.Root, dir string) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		f.skip(dir, err)
		return
	}
	var seen []fs.FileInfo
	for _, e := range entries {
		name, ok := contextFiles[strings.ToLower(e.Name())]
		if !ok {
			continue
		}
		info, err := root.Stat(e.Name())
		if err != nil || slices.ContainsFunc(seen, func(i fs.FileInfo) bool { return os.SameFile(i, info) }) {
			continue
		}
		seen = append(seen, info)
		file := filepath.Join(dir, e.Name())
		body, err := read(root, e.Name())
		if err != nil && f.names[name] == "" {
			f.skip(file, err)
			continue
		}
		f.add(Skill{Name: name, Body: string(body), Path: file, Always: true})
	}
}

// directory reads the skills below a place.
func (f *finder) directory(root *os.Root, dir, place string) {
	apart, err := leftOut(root, place)
	if err != nil {
		f.skip(filepath.Join(dir, filepath.FromSlash(place), installedList), err)
		return
	}
	err = fs.WalkDir(root.FS(), place, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && p == place:
			return fs.SkipAll // there is none
		case err != nil:
			return err
		case len(f.found) >= maxSkills:
			return fs.SkipAll
		case e.IsDir() && apart(p):
			return fs.SkipDir
		case e.IsDir() || path.Ext(p) != ".md" || strings.EqualFold(e.Name(), "README.md"):
			return nil
		}
		if e.Name() != "SKILL.md" && inSkill(root, place, p) {
			return nil // it belongs to the skill around it
		}
		if err := f.file(root, dir, place, p); err != nil {
			f.skip(filepath.Join(dir, filepath.FromSlash(p)), err)
		}
		return nil
	})
	if err != nil {
		f.skip(filepath.Join(dir, filepath.FromSlash(place)), err)
	}
}

// file reads the skill p, which is below a place of the directory dir.
func (f *finder) file(root *os.Root, dir, place, p string) error {
	data, err := read(root, p)
	if err != nil {
		return err
	}
	s, err := parse(place, p, data)
	if err != nil {
		return err
	}
	s.Path = filepath.Join(dir, filepath.FromSlash(p))
	s.Own = f.user.has(s.Path)
	if path.Base(p) == "SKILL.md" {
		s.Dir = filepath.Dir(s.Path)
	}
	f.add(s)
	return nil
}

// has reports whether a file is in a place of the user's own skills.
func (u User) has(file string) bool {
	in := func(dir string, places []string) bool {
		return dir != "" && slices.ContainsFunc(places, func(place string) bool {
			return subpath.Within(filepath.Join(dir, filepath.FromSlash(place)), file)
		})
	}
	return in(u.Home, homeDirs) || in(u.Base, baseDirs)
}

func inSkill(root *os.Root, place, p string) bool {
	for dir := path.Dir(p); dir != place && len(dir) > len(place); dir = path.Dir(dir) {
		if _, err := root.Lstat(path.Join(dir, "SKILL.md")); err == nil {
			return true
		}
	}
	return false
}

func (f *finder) add(s Skill) {
	switch first := f.names[s.Name]; first {
	case "":
	case s.Path: // the workspace is the home directory
		return
	default:
		f.skipped = append(f.skipped, Skipped{Name: s.Name, Path: s.Path, Reason: "another skill of this name comes first: " + first})
		return
	}
	f.names[s.Name] = s.Path
	f.found = append(f.found, s)
}

var errNoFile = &formError{"it is not a regular file"}

func read(root *os.Root, name string) ([]byte, error) {
	file, _, err := sandbox.OpenRegular(root, name)
	if errors.Is(err, sandbox.ErrNotRegular) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// front is what may stand between the two lines of dashes at the top.
type front struct {
	Name        string           `yaml:"name"`
	Description string           `yaml:"description"`
	Triggers    []string         `yaml:"triggers"`
	Inputs      []map[string]any `yaml:"inputs"`
	Paths       any              `yaml:"paths"`
	Silent      bool             `yaml:"disable-model-invocation"`
}

// parse reads a skill file at p below place. A skill with a directory has its name.
func parse(place, p string, data []byte) (Skill, error) {
	directory := path.Base(path.Dir(p))
	s, err := parseAny(place, p, data, directory)
	if err == nil && path.Base(p) == "SKILL.md" && (len(s.Name) > maxName || !ValidName(s.Name) || s.Name != directory) {
		return Skill{}, &formError{"its name must be that of its directory, in lower case with dashes"}
	}
	return s, err
}

// parseAny reads a skill file, whatever its name. directory is the name of one with a
// directory that says none.
func parseAny(place, p string, data []byte, directory string) (Skill, error) {
	head, body, _, _ := frontmatter.Split(data)
	var m front
	if err := yaml.Unmarshal(head, &m); err != nil {
		return Skill{}, &formError{"its front matter is not valid YAML"}
	}
	s := Skill{Body: string(body), Description: truncate.Head(m.Description, maxDescription), Triggers: m.Triggers, Paths: texts(m.Paths)}
	if path.Base(p) == "SKILL.md" {
		s.Name = cmp.Or(m.Name, directory)
		s.Invocable = !m.Silent && len(s.Paths) == 0
	} else {
		s.Name = strings.TrimSuffix(strings.TrimPrefix(p, place+"/"), ".md")
		s.Always = len(s.Paths) == 0 && len(m.Triggers) == 0 && len(m.Inputs) == 0
	}
	if len(m.Inputs) > 0 {
		s.Triggers = append(s.Triggers, "/"+s.Name)
	}
	if len(s.Paths) > 0 {
		s.Triggers = nil
	}
	return s, nil
}

// texts reads a text, or a list of them.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ohgw/ohgw/agentapi/engine/frontmatter"
	"github.com/ohgw/ohgw/internal/truncate"
)

// OfPlugin reads the skills of a plugin, whose directory is root, and its commands, which
// are skills that a word of the user calls for. A skill of a plugin may have any name.
func OfPlugin(root *os.Root, dir, name string) (found []Skill, skipped []Skipped) {
	f := finder{names: map[string]string{}}
	p := pluginFinder{finder: &f, root: root, dir: dir, name: name}
	if _, err := root.Lstat("skills"); errors.Is(err, fs.ErrNotExist) {
		p.skillIn(".") // the plugin is one skill
	} else {
		p.directory("skills", func(e fs.DirEntry, file string) {
			switch info, err := root.Stat(file); {
			case err == nil && info.IsDir():
				p.skillIn(file)
			case err != nil || isText(e.Name()):
				p.skill(file, file)
			}
		})
	}
	p.directory("commands", func(e fs.DirEntry, file string) {
		if isText(e.Name()) {
			p.command(file)
		}
	})
	return f.found, f.skipped
}

// OfDirectory reads the skill that a directory is. It has the directory's name.
func OfDirectory(dir string) (Skill, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Skill{}, errors.New("its source is not a directory that can be read")
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return Skill{}, errors.New("its directory cannot be read")
	}
	for _, e := range entries {
		if !strings.EqualFold(e.Name(), skillFile) || e.IsDir() {
			continue
		}
		data, err := read(root, e.Name())
		if err != nil {
			return Skill{}, fmt.Errorf("its %s cannot be read, or is not a regular file", e.Name())
		}
		name := filepath.Base(dir)
		s, err := parse(".", path.Join(name, skillFile), data)
		s.Path, s.Dir = filepath.Join(dir, e.Name()), dir
		return s, err
	}
	return Skill{}, errors.New("it has no SKILL.md")
}

// skillFile is the file of a skill with a directory of its own.
const skillFile = "SKILL.md"

type pluginFinder struct {
	*finder

	root      *os.Root
	dir, name string
}

// directory hands on what is in a directory, not below it: text files of a skill belong
// to the skill.
func (p *pluginFinder) directory(place string, each func(e fs.DirEntry, file string)) {
	entries, err := fs.ReadDir(p.root.FS(), place)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.skip(p.path(place), err)
		return
	}
	for _, e := range entries {
		if len(p.found) >= maxSkills {
			p.skip(p.path(place), &formError{fmt.Sprintf("it has more than %d skills", maxSkills)})
			return
		}
		each(e, path.Join(place, e.Name()))
	}
}

func (p *pluginFinder) path(name string) string {
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

// isText reports whether a file may be a skill or a command.
func isText(name string) bool {
	return strings.EqualFold(path.Ext(name), ".md") && !strings.EqualFold(name, "README.md")
}

// skillIn reads the skill of a directory. One without a SKILL.md, in any case, has none.
func (p *pluginFinder) skillIn(dir string) {
	entries, err := fs.ReadDir(p.root.FS(), dir)
	if err != nil {
		p.skip(p.path(dir), err)
		return
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "SKILL.md") && !e.IsDir() {
			p.skill(path.Join(dir, e.Name()), path.Join(dir, "SKILL.md"))
			return
		}
	}
}

// skill reads the skill of a file, in the form that another name says.
func (p *pluginFinder) skill(name, as string) {
	data, err := read(p.root, name)
	var s Skill
	if err == nil {
		s, err = parseAny("skills", as, data, filepath.Base(filepath.Dir(p.path(name))))
	}
	if err != nil {
		p.skip(p.path(name), err)
		return
	}
	s.Path = p.path(name)
	if path.Base(as) == "SKILL.md" {
		s.Dir = filepath.Dir(s.Path)
	}
	p.add(s)
}

// command reads a command, and makes the skill of it that OpenHands makes.
func (p *pluginFinder) command(name string) {
	data, err := read(p.root, name)
	if err != nil {
		p.skip(p.path(name), err)
		return
	}
	head, body, _, _ := frontmatter.Split(data)
	var m struct {
		Description string `yaml:"description"`
		Hint        any    `yaml:"argument-hint"`
		OtherHint   any    `yaml:"argumentHint"`
	}
	if err := yaml.Unmarshal(head, &m); err != nil {
		p.skip(p.path(name), &formError{"its front matter is not valid YAML"})
		return
	}
	short := strings.TrimSuffix(path.Base(name), path.Ext(name))
	full := p.name + ":" + short
	var parts []string
	if m.Description != "" {
		parts = append(parts, "## "+short+"\n\n"+m.Description+"\n")
	}
	if hint := hintOf(m.Hint, m.OtherHint); hint != "" {
		parts = append(parts, "**Arguments**: `$ARGUMENTS` - "+hint+"\n")
	}
	if text := strings.TrimSpace(string(body)); text != "" {
		parts = append(parts, "\n"+text)
	}
	description := m.Description
	if description == "" {
		description = "Command " + short + " from " + p.name
	}
	p.add(Skill{
		Name: full, Description: truncate.Head(description, maxDescription), Body: strings.TrimSpace(strings.Join(parts, "\n")), Path: p.path(name), Triggers: []string{"/" + full},
	})
}

// hintOf reads what a command says of its arguments: a text, or a list of them.
func hintOf(hints ...any) string {
	i := slices.IndexFunc(hints, func(h any) bool { return h != nil && h != "" })
	if i < 0 {
		return ""
	}
	list, ok := hints[i].([]any)
	if !ok {
		return fmt.Sprint(hints[i])
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, " ")
}

// Encode converts a skill to the form that OpenHands has in an agent; [Given] reads it.
func Encode(s Skill) (json.RawMessage, error) {
	var description *string
	if s.Description != "" {
		description = &s.Description
	}
	out := map[string]any{
		"name": s.Name, "content": s.Body, "description": description, "source": s.Path, "trigger": nil,
		"is_agentskills_format": s.Dir != "", "disable_model_invocation": s.Dir != "" && !s.Invocable && len(s.Paths) == 0,
	}
	switch {
	case len(s.Paths) > 0:
		out["trigger"] = map[string]any{"type": "path", "paths": s.Paths}
	case len(s.Triggers) > 0:
		out["trigger"] = map[string]any{"type": "keyword", "keywords": s.Triggers}
	}
	return json.Marshal(out)
}

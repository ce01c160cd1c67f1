package skill

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// plugins reads the skills of plugins, and their commands, which are skills that a
// word calls for.
func (f *finder) plugins(workspaces []string) {
	found, problems := plugin.Find(workspaces, f.home)
	for _, p := range problems {
		f.skip(p.Path, &formError{p.Msg})
	}
	for _, p := range found {
		root, err := p.Open()
		if err != nil {
			f.skip(p.Dir, err)
			continue
		}
		f.ofPlugin(root, p)
		_ = root.Close() // it was only read
	}
}

func (f *finder) ofPlugin(root *os.Root, p plugin.Plugin) {
	names, err := fs.ReadDir(root.FS(), "skills")
	if err != nil { // the plugin itself may be a skill
		f.pluginSkill(root, p, ".", "SKILL.md")
	}
	for _, e := range names {
		name := path.Join("skills", e.Name())
		if info, err := root.Stat(name); err == nil && info.IsDir() {
			name = path.Join(name, "SKILL.md")
		}
		f.pluginSkill(root, p, "skills", name)
	}
	commands, err := fs.ReadDir(root.FS(), "commands")
	if err != nil {
		return
	}
	for _, e := range commands {
		if name := path.Join("commands", e.Name()); isText(name) {
			f.command(root, p, name)
		}
	}
}

// isText reports whether a file may be a skill or a command.
func isText(name string) bool {
	return path.Ext(name) == ".md" && !strings.EqualFold(path.Base(name), "README.md")
}

// pluginSkill reads a skill of a plugin. Its name may be any, as in OpenHands.
func (f *finder) pluginSkill(root *os.Root, p plugin.Plugin, place, name string) {
	if _, err := root.Lstat(name); err != nil || !isText(name) || len(f.found) >= maxSkills {
		return
	}
	file := filepath.Join(p.Dir, filepath.FromSlash(name))
	data, err := read(root, name)
	var s Skill
	if err == nil {
		s, err = parse(place, name, data, filepath.Base(filepath.Dir(file)))
	}
	if err != nil {
		f.skip(file, err)
		return
	}
	s.Path, s.Own = file, p.Own
	if path.Base(name) == "SKILL.md" {
		s.Dir = filepath.Dir(file)
	}
	f.add(s)
}

// command reads a command of a plugin.
func (f *finder) command(root *os.Root, p plugin.Plugin, name string) {
	file := filepath.Join(p.Dir, filepath.FromSlash(name))
	data, err := read(root, name)
	if err != nil {
		f.skip(file, err)
		return
	}
	head, body := split(data)
	var m struct {
		Description string `yaml:"description"`
		Hint        any    `yaml:"argument-hint"`
		OtherHint   any    `yaml:"argumentHint"`
	}
	if err := yaml.Unmarshal(head, &m); err != nil {
		f.skip(file, &formError{"its front matter is not valid YAML"})
		return
	}
	short := strings.TrimSuffix(path.Base(name), ".md")
	full := p.Name + ":" + short
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
		description = "Command " + short + " from " + p.Name
	}
	f.add(Skill{
		Name: full, Description: cut(description), Body: strings.TrimSpace(strings.Join(parts, "\n")), Path: file, Own: p.Own,
		Triggers: []string{"/" + full},
	})
}

// hintOf is what a command says of its arguments: a text, or a list of them.
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

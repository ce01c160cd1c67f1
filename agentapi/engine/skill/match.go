package skill

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/glob"
)

// Triggered is the first word of a message that calls for the skill; empty for
// none. Only whole words count, in any case.
func (s Skill) Triggered(text string) string {
	text = strings.ToLower(text)
	for _, t := range s.Triggers {
		if hasWord(text, strings.ToLower(strings.TrimSpace(t))) {
			return t
		}
	}
	return ""
}

// hasWord reports whether word stands alone somewhere in text.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(word):])
		if !isWord(before) && !isWord(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at+i:])
		at += i + size
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// About reports whether a rule is about a file, given by its path in the
// workspace with forward slashes.
func (s Skill) About(file string) bool {
	for _, pattern := range s.Paths {
		if re, err := glob.Plain(pattern); err == nil && re.MatchString(file) {
			return true
		}
	}
	return false
}

// Nested reads the AGENTS.md files in the directories between the workspace and
// a file in it, both excluded: rules for what lies below them. The file is
// given by its path in the workspace.
func Nested(workspace, file string) []Skill {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	var found []Skill
	for dir := filepath.Dir(filepath.FromSlash(file)); dir != "." && dir != string(filepath.Separator); dir = filepath.Dir(dir) {
		for _, name := range []string{"AGENTS.md", "agents.md", "AGENT.md", "CLAUDE.md", "GEMINI.md"} {
			body, err := read(root, filepath.Join(dir, name))
			if err != nil {
				continue
			}
			kind := contextFiles[strings.ToLower(name)]
			found = append(found, Skill{
				Name: kind + ":" + filepath.ToSlash(dir), Body: string(body), Path: filepath.Join(workspace, dir, name),
			})
			break
		}
	}
	return found
}

package completions

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi"
)

// namesOf are the names by which a message or an answer can name an agent.
func namesOf(p agentapi.Profile) []string {
	return []string{p.Agent, strings.TrimPrefix(p.Name, agentapi.AgentPrefix)}
}

// mentioned finds the agents that a text mentions as @NAME, by their places in the list.
// The longest name counts. An @ in an address, in the name of a package or in a path
// mentions no agent.
func mentioned(agents []agentapi.Profile, text string) map[int]bool {
	found := make(map[int]bool)
	for at := 0; at < len(text); at++ {
		if text[at] != '@' {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if at > 0 && !opensWord(before) {
			continue
		}
		longest := 0
		agent := -1
		for i, p := range agents {
			for _, name := range namesOf(p) {
				if n := len(name); n > longest && begins(text[at+1:], name) {
					longest, agent = n, i
				}
			}
		}
		if agent >= 0 {
			found[agent] = true
			at += longest
		}
	}
	return found
}

// opensWord reports whether a word can begin after a character.
func opensWord(r rune) bool {
	return unicode.IsSpace(r) || isUnspaced(r) || unicode.IsPunct(r) && !strings.ContainsRune(`_.-/\@:&%#`, r)
}

// begins reports whether a text begins with a name, as a whole word.
func begins(text, name string) bool {
	if len(text) < len(name) || !strings.EqualFold(text[:len(name)], name) {
		return false
	}
	rest := text[len(name):]
	next, size := utf8.DecodeRuneInString(rest)
	after, _ := utf8.DecodeRuneInString(rest[size:])
	switch {
	case rest == "", unicode.IsSpace(next), isUnspaced(next):
		return true
	case isLetter(next), strings.ContainsRune(`_/\@`, next):
		return false
	case strings.ContainsRune("-.:+=~#", next): // ends a sentence, or is within a longer word
		return !isLetter(after)
	}
	return true
}

// isLetter reports whether a character is part of a word.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isUnspaced reports whether a character is of a script that puts no spaces between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

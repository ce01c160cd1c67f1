package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a piece of code is.
type kind int

const (
	other kind = iota
	keyword
	quoted
	number
	comment
	function
	added
	removed
)

// maxGrammars is how many are kept: an answer may name any number of languages.
const maxGrammars = 50

type token struct {
	text string
	kind kind
}

// highlighter tells the parts of code by what most languages have in common:
// comments, texts in quotes, numbers, key words and names that are called.
// It reads line by line, so code can be shown while it is written.
type highlighter struct {
	grammar
	until string // what ends the comment or text that spans lines
	kind  kind   // of that
}

func (r *Renderer) highlighter(lang string) *highlighter {
	lang = strings.ToLower(lang)
	g, ok := r.grammars[lang]
	if !ok {
		g = grammarOf(lang)
		if len(r.grammars) < maxGrammars {
			r.grammars[lang] = g
		}
	}
	return &highlighter{grammar: g}
}

// line returns the tokens of a line, none of them empty.
func (h *highlighter) line(s string) []token {
	if h.diff {
		return diffLine(s)
	}
	var tokens []token
	add := func(text string, k kind) {
		if text == "" {
			return
		}
		if n := len(tokens); n > 0 && tokens[n-1].kind == k {
			tokens[n-1].text += text
			return
		}
		tokens = append(tokens, token{text, k})
	}
	for s != "" {
		n, k := h.next(s)
		add(s[:n], k)
		s = s[n:]
	}
	return tokens
}

// next returns the length and the kind of what s begins with.
func (h *highlighter) next(s string) (int, kind) {
	if h.until != "" {
		return h.span(s, 0)
	}
	for _, c := range h.comments {
		if strings.HasPrefix(s, c) {
			return len(s), comment
		}
	}
	for _, b := range h.blocks {
		if strings.HasPrefix(s, b[0]) {
			h.until, h.kind = b[1], comment
			if b[0] != "/*" && b[0] != "<!--" && b[0] != "--[[" {
				h.kind = quoted
			}
			return h.span(s, len(b[0]))
		}
	}
	if strings.IndexByte(h.quotes, s[0]) >= 0 {
		return quote(s), quoted
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsDigit(r) && !h.textOnly:
		return word(s, "._"), number
	case unicode.IsLetter(r) || r == '_' || r == '$':
		return h.name(s)
	}
	return size, other
}

// span measures the rest of a comment or text, on this line.
func (h *highlighter) span(s string, from int) (int, kind) {
	k := h.kind
	i := strings.Index(s[from:], h.until)
	if i < 0 {
		return len(s), k
	}
	n := from + i + len(h.until)
	h.until = ""
	return n, k
}

func (h *highlighter) name(s string) (int, kind) {
	n := word(s, h.inName)
	name := s[:n]
	if h.fold {
		name = strings.ToLower(name)
	}
	switch {
	case h.words[name]:
		return n, keyword
	case h.keys && strings.HasPrefix(strings.TrimLeft(s[n:], " "), h.key):
		return n, function
	case strings.HasPrefix(s[n:], "(") && !h.textOnly:
		return n, function
	}
	return n, other
}

// word is how many bytes of s are one name or number.
func word(s, more string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && (r > '~' || strings.IndexByte(more, byte(r)) < 0 || more == "") {
			return max(i, 1)
		}
	}
	return len(s)
}

// quote is how many bytes of s are a text in quotes; it ends with the line.
func quote(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

func diffLine(s string) []token {
	k := other
	switch {
	case s == "":
		return nil
	case strings.HasPrefix(s, "+"):
		k = added
	case strings.HasPrefix(s, "-"):
		k = removed
	case strings.HasPrefix(s, "@@"), strings.HasPrefix(s, "diff "), strings.HasPrefix(s, "index "):
		k = comment
	}
	return []token{{s, k}}
}

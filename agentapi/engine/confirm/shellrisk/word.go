package shellrisk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command as it is written.
type word struct {
	syntax *syntax.Word
	raw    string // as it is written
	text   string // what the program gets, if it is known
	known  bool
	many   bool // it may become more words than one, or none
}

func newWord(w *syntax.Word, raw string) word {
	out := word{syntax: w, raw: raw}
	out.text, out.known = literal(w.Parts)
	glob, brace := expansions(raw)
	switch {
	case out.known:
		out.many = glob || brace
	case len(w.Parts) == 1:
		out.many = splits(w.Parts[0])
	default:
		out.many = glob || brace
		for _, part := range w.Parts {
			out.many = out.many || splits(part)
		}
	}
	return out
}

// literal is the text that a shell makes of parts without looking anything up.
func literal(parts []syntax.WordPart) (string, bool) {
	text, whole := prefixOf(parts)
	return text, whole
}

// prefixOf returns the text before the first part that has to be looked up, and whether it
// is the whole word.
func prefixOf(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value, ""))
			continue
		case *syntax.SglQuoted:
			if !part.Dollar {
				b.WriteString(part.Value)
				continue
			}
		case *syntax.DblQuoted:
			if !part.Dollar {
				text, whole := quoted(part.Parts)
				b.WriteString(text)
				if whole {
					continue
				}
			}
		}
		return b.String(), false
	}
	return b.String(), true
}

func quoted(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return b.String(), false
		}
		b.WriteString(unescaped(lit.Value, "$`\"\\"))
	}
	return b.String(), true
}

// unescaped drops the backslashes that a shell drops: before all characters, or only before
// some.
func unescaped(text, only string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			switch next := text[i+1]; {
			case next == '\n':
				i++
				continue
			case only == "" || strings.IndexByte(only, next) >= 0:
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// splits reports whether a part that has to be looked up may become several words.
func splits(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.SglQuoted, *syntax.ArithmExp, *syntax.ProcSubst:
		return false
	case *syntax.DblQuoted:
		return part.Dollar || listsWords(part)
	}
	return true
}

// listsWords reports whether a quoted text has a parameter that is a list of words, "$@".
func listsWords(quoted syntax.Node) (found bool) {
	syntax.Walk(quoted, func(node syntax.Node) bool {
		if p, ok := node.(*syntax.ParamExp); ok {
			index, _ := p.Index.(*syntax.Word)
			found = found || p.Param != nil && p.Param.Value == "@" || p.Names == syntax.NamesPrefixWords || index != nil && index.Lit() == "@"
		}
		return !found
	})
	return found
}

// isValue reports whether a word that has to be looked up is for sure no option: the file of
// <(…), or a number.
func (w word) isValue() bool {
	if len(w.syntax.Parts) != 1 {
		return false
	}
	switch w.syntax.Parts[0].(type) {
	case *syntax.ArithmExp, *syntax.ProcSubst:
		return true
	}
	return false
}

// begins is what the word begins with for sure.
func (w word) begins() string {
	text, _ := prefixOf(w.syntax.Parts)
	return text
}

// expansions reports whether a word has characters outside of quotes that stand for names
// of files, or braces that make several words.
func expansions(raw string) (glob, brace bool) {
	var e expansion
	var quote byte
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		default:
			e.see(c, strings.HasPrefix(raw[i:], ".."))
		}
	}
	return e.glob, e.brace
}

// expansion is what characters outside of quotes make of a word.
type expansion struct {
	glob, brace bool
	bracket     bool
	braces      []bool // those that are open: whether they have several words
}

func (e *expansion) see(c byte, dots bool) {
	last := len(e.braces) - 1
	switch {
	case c == '*' || c == '?' || c == ']' && e.bracket:
		e.glob, e.bracket = true, false
	case c == '[':
		e.bracket = true
	case c == '{':
		e.braces = append(e.braces, false)
	case last < 0:
	case c == '}':
		e.brace = e.brace || e.braces[last]
		e.braces = e.braces[:last]
	case c == ',' || dots:
		e.braces[last] = true
	}
}

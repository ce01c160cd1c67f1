package main

import (
	"fmt"
	"strings"
)

// roff writes a page with the macros of man(7). Groff, mandoc and the man of
// macOS read them alike.
type roff struct{ b strings.Builder }

// macro writes a line for a macro, with its arguments in quotes where they need
// some. Arguments are escaped already.
func (r *roff) macro(name string, args ...string) {
	r.b.WriteString("." + name)
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t") {
			arg = `"` + arg + `"`
		}
		r.b.WriteString(" " + arg)
	}
	r.b.WriteString("\n")
}

// comment writes a comment of roff, which man(1) does not show.
func (r *roff) comment(text string) { r.b.WriteString(`.\" ` + text + "\n") }

// width is where lines of the source end, in bytes.
const width = 80

// words writes text that is filled, and escaped already.
func (r *roff) words(text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			r.line(line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		r.line(line)
	}
}

// line writes a line of text that is escaped already.
func (r *roff) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	r.b.WriteString(text + "\n")
}

// section begins a section.
func (r *roff) section(title string) { r.macro("SH", strings.ToUpper(title)) }

// item writes one entry of a list: a name, and what it means.
func (r *roff) item(name, meaning string) {
	r.macro("TP")
	r.line(name)
	r.words(meaning)
}

// text writes paragraphs: those that are indented stay as they are, line by
// line; the others are filled.
func (r *roff) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		// A list may follow its introduction without an empty line.
		filled := 0
		for filled < len(lines) && !strings.HasPrefix(lines[filled], "  ") {
			filled++
		}
		if i > 0 {
			r.macro("PP")
		}
		r.words(prose(strings.Join(lines[:filled], " ")))
		if filled < len(lines) {
			if filled > 0 {
				r.macro("PP")
			}
			r.example(lines[filled:])
		}
	}
}

// example writes lines that are not filled, in the width of a typewriter.
func (r *roff) example(lines []string) {
	r.macro("RS", "4")
	r.macro("EX")
	for _, line := range lines {
		r.line(escape(strings.TrimPrefix(line, "  ")))
	}
	r.macro("EE")
	r.macro("RE")
}

// prose escapes running text, in which flags and variables are bold.
func prose(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		head := strings.TrimLeft(word, `("'`)
		core := strings.TrimRight(head, `.,;:)"'`)
		if len(core) > 2 && strings.HasPrefix(core, "--") || isVariable(core) {
			words[i] = escape(word[:len(word)-len(head)]) + bold(core) + escape(head[len(core):])
			continue
		}
		words[i] = escape(word)
	}
	return strings.Join(words, " ")
}

// isVariable reports whether a word is the name of a variable of the environment.
func isVariable(word string) bool {
	return len(word) > 3 && strings.Contains(word, "_") && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// escape makes text what it says: no character of it is a request, and a minus
// is one that can be copied.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// bold and italic set text that is not escaped yet.
func bold(text string) string   { return `\fB` + escape(text) + `\fR` }
func italic(text string) string { return `\fI` + escape(text) + `\fR` }

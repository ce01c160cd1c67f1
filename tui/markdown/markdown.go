// Package markdown renders Markdown for a terminal, block by block: a block
// that is complete is never rendered again when text comes after it, and none
// is larger than some kilobytes.
//
// It is the only importer of the parser. Text that goes in has been through
// package safe; nothing of it is left out: HTML and what is not Markdown after
// all are shown as they are written. A reference to a link that is defined in
// another block is shown as it is written, too.
package markdown

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// Theme is the looks of the parts, each the escape sequence that begins it.
// The zero Theme is for terminals without any.
type Theme struct {
	Heading, Strong, Emphasis, Strike string
	Link, Address                     string
	Code                              string // in a line of text
	Faint                             string // marks, rules, names of languages
	Block                             string // background of a block of code
	Keyword, String, Number, Comment  string
	Function, Added, Removed          string
	// Marked is set when code has no colour: it is written in backquotes then.
	Marked bool
}

// Renderer renders blocks. It is not safe for concurrent use.
type Renderer struct {
	theme    Theme
	parser   parser.Parser
	grammars map[string]grammar
}

// New makes a Renderer.
func New(t Theme) *Renderer {
	md := goldmark.New(goldmark.WithExtensions(
		extension.Strikethrough, extension.Table, extension.TaskList,
		extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
	))
	return &Renderer{theme: t, parser: md.Parser(), grammars: map[string]grammar{}}
}

// Render returns the lines of a block, each at most width cells.
func (r *Renderer) Render(b Block, width int) []string {
	width = max(width, 2)
	if b.Fence != "" {
		return r.code(language(b.Fence), body(b.Src, b.Fence), width)
	}
	opener, rest, _ := strings.Cut(b.Src, "\n")
	if fenceOf(strings.TrimLeft(opener, " ")) != "" && !strings.HasPrefix(opener, "    ") {
		lang := language(opener)
		lines := r.code(lang, body(rest, strings.TrimSpace(opener)), width)
		if lang == "" {
			return lines
		}
		label := r.shade("  "+r.style(r.theme.Block+r.theme.Faint, wrap.Cut(lang, width-4)), width)
		return append([]string{label}, lines...)
	}
	src := []byte(b.Src)
	refs := parser.NewContext()
	doc := r.parser.Parse(text.NewReader(src), parser.WithContext(refs))
	w := writer{Renderer: r, src: src}
	lines := w.children(doc, width, true)
	for _, ref := range refs.References() {
		lines = append(lines, wrap.Text("["+string(ref.Label())+"]: "+safe.Line(string(ref.Destination())), width)...)
	}
	return lines
}

// body is the code in src, which ends with the line that closes it, if that is
// there already.
func body(src, opener string) string {
	mark := fenceOf(strings.TrimLeft(opener, " "))
	trimmed := strings.TrimRight(src, " \n")
	start := strings.LastIndexByte(trimmed, '\n') + 1
	last := strings.TrimSpace(trimmed[start:])
	if strings.HasPrefix(last, mark) && strings.Trim(last, mark[:1]) == "" {
		return strings.TrimSuffix(src[:start], "\n")
	}
	return strings.TrimRight(src, "\n")
}

// language is the name after the marks of a fence.
func language(opener string) string {
	info := strings.TrimLeft(strings.TrimSpace(opener), "`~")
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return strings.Trim(name, "{}.")
}

func (r *Renderer) style(sgr, s string) string {
	if sgr == "" || s == "" {
		return s
	}
	return sgr + s + "\x1b[m"
}

// Code lists the blocks of code in a text, without their fences.
func Code(src string) []string {
	var found []string
	var fence string
	var lines []string
	for line := range strings.Lines(src) {
		text := strings.TrimLeft(line, " \t")
		if fence == "" {
			if f := fenceOf(text[item(text):]); f != "" {
				fence, lines = f, nil
			}
			continue
		}
		if body := strings.TrimSpace(text); strings.HasPrefix(body, fence) && strings.Trim(body, fence[:1]) == "" {
			found = append(found, strings.Join(lines, ""))
			fence = ""
			continue
		}
		lines = append(lines, line)
	}
	if fence != "" {
		found = append(found, strings.Join(lines, ""))
	}
	return found
}

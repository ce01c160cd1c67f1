package transcript

import (
	"bytes"
	"strings"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/wrap"
)

const (
	// maxShell is how many lines of output are shown while it is folded: the last.
	maxShell = 20
	// What is kept of the output, in bytes: the beginning and the end.
	shellHead, shellTail = 32 << 10, 96 << 10
)

// Shell is a command that the user ran, with its output. It changes until it has
// ended.
type Shell struct {
	line string
	head string
	tail []byte // grows in place: a command may print a line at a time
	lost int    // bytes between head and tail
	foot string // how it ended
	bad  bool
	over bool
	kept cache
}

// NewShell makes a command without output.
func NewShell(line string) *Shell { return &Shell{line: line} }

// Print adds output.
func (s *Shell) Print(text string) {
	s.kept.version++
	if room := shellHead - len(s.head); room > 0 && len(s.tail) == 0 {
		n := min(room, len(text))
		if i := strings.LastIndexByte(text[:n], '\n'); n < len(text) && i >= 0 {
			n = i + 1
		}
		s.head += text[:n]
		text = text[n:]
	}
	s.tail = append(s.tail, text...)
	if n := len(s.tail) - shellTail; n > shellTail {
		s.tail, s.lost = bytes.ToValidUTF8(s.tail[n:], nil), s.lost+n
	}
}

// End says how the command ended.
func (s *Shell) End(how string, bad bool) {
	s.foot, s.bad, s.over = how, bad, true
	s.kept.version++
}

// Text is the output that is kept.
func (s *Shell) Text() string {
	if s.lost == 0 {
		return s.head + string(s.tail)
	}
	return s.head + "\n… " + human.Size(int64(s.lost)) + " left out …\n" + string(s.tail)
}

// Source is the command and its output as Markdown.
func (s *Shell) Source() string {
	fence := "```"
	for strings.Contains(s.Text(), fence) {
		fence += "`"
	}
	return fence + "\n$ " + s.line + "\n" + strings.TrimRight(s.Text(), "\n") + "\n" + fence
}

func (s *Shell) cells() int          { return 1 }
func (s *Shell) slot(int) *cache     { return &s.kept }
func (s *Shell) epoch(int, bool) int { return 0 }
func (s *Shell) contains(text string) bool {
	return strings.Contains(strings.ToLower(s.line+"\n"+s.Text()), text)
}

func (s *Shell) cell(_ int, p *painter) []string {
	bar := style(p.theme.Accent, "▌") + " "
	var lines []string
	for i, l := range wrap.Text(s.line, p.text()) {
		mark := "! "
		if i > 0 {
			mark = "  "
		}
		lines = append(lines, bar+style(p.theme.Accent, mark)+l)
	}
	return append(append(lines, s.output(p)...), s.ending(p)...)
}

// output is the output, or its last lines.
func (s *Shell) output(p *painter) []string {
	text := strings.TrimRight(s.Text(), "\n")
	if text == "" {
		return nil
	}
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, cutLine(strings.ReplaceAll(l, "\t", "    "), p.wide()))
	}
	if more := len(lines) - maxShell; more > 1 && !p.expanded {
		lines = append([]string{style(p.theme.Faint, count(more, "earlier line", "earlier lines"))}, lines[more:]...)
	}
	return p.indent(lines)
}

func (s *Shell) ending(p *painter) []string {
	look := p.theme.Faint
	if s.bad {
		look = p.theme.Bad
	}
	if !s.over {
		return nil
	}
	lines := wrap.Text(s.foot, p.text())
	for i := range lines {
		lines[i] = style(look, lines[i])
	}
	return p.indent(lines)
}

// wide is how wide a line of output can be.
func (p *painter) wide() int { return max(p.width-margin-1, 2) }

package transcript

import (
	"strings"

	"github.com/ohgw/ohgw/tui/wrap"
)

// maxQuestion is how many lines of a question are shown while it is folded.
const maxQuestion = 12

// Question is what the user said. It does not change.
type Question struct {
	text  string
	files []string
	kept  cache
}

// NewQuestion makes one of its text and the names of what goes with it.
func NewQuestion(text string, files []string) *Question {
	return &Question{text: text, files: files}
}

// Text is the question.
func (q *Question) Text() string { return q.text }

func (q *Question) cells() int             { return 1 }
func (q *Question) slot(int) *cache        { return &q.kept }
func (q *Question) epoch(int, bool) int    { return 0 }
func (q *Question) contains(s string) bool { return strings.Contains(strings.ToLower(q.text), s) }

func (q *Question) cell(_ int, p *painter) []string {
	bar := style(p.theme.Accent, "▌") + " "
	text := wrap.Text(q.text, p.text())
	more := 0
	if !p.expanded && len(text) > maxQuestion {
		more = len(text) - maxQuestion + 1
		text = text[:maxQuestion-1]
	}
	lines := make([]string, 0, len(text)+2)
	for _, l := range text {
		lines = append(lines, bar+style(p.theme.Strong, l))
	}
	if more > 0 {
		lines = append(lines, bar+style(p.theme.Faint, count(more, "more line", "more lines")))
	}
	for _, f := range q.files {
		lines = append(lines, bar+style(p.theme.Faint, cutLine("+ "+f, p.text())))
	}
	return lines
}

// Note is what the chat itself has to say. It does not change.
type Note struct {
	text string
	bad  bool
	kept cache
}

// NewNote makes a note; a bad one is about something that did not work.
func NewNote(text string, bad bool) *Note { return &Note{text: text, bad: bad} }

// Text is the note.
func (n *Note) Text() string { return n.text }

func (n *Note) cells() int             { return 1 }
func (n *Note) slot(int) *cache        { return &n.kept }
func (n *Note) epoch(int, bool) int    { return 0 }
func (n *Note) contains(s string) bool { return strings.Contains(strings.ToLower(n.text), s) }

func (n *Note) cell(_ int, p *painter) []string {
	sgr := p.theme.Faint
	if n.bad {
		sgr = p.theme.Bad
	}
	lines := wrap.Text(n.text, p.text())
	for i := range lines {
		lines[i] = style(sgr, lines[i])
	}
	return p.indent(lines)
}

// Package transcript is what was said, as a list that shows a part of itself.
//
// The list is made of messages, a message of cells: a question is one cell, an
// answer has one for each block of its text. A cell is rendered when it is
// seen and kept until it, the width or the look changes; a cell that is
// complete does not change. So neither scrolling nor a resize nor a long
// answer costs more than what is on the screen.
//
// All text that is put in has been through package safe.
package transcript

import "github.com/ohgw/ohgw/tui/markdown"

// Theme is the looks, each the escape sequence that begins it.
type Theme struct {
	Accent, Strong, Faint, Bad, Good, Warn, Found    string
	Selected, Added, Removed, AddedWord, RemovedWord string
	Markdown                                         markdown.Theme
}

// Message is a part of the transcript: *Question, *Answer or *Note.
type Message interface {
	// cells is how many there are.
	cells() int
	// cell renders one of them. An empty cell has no lines.
	cell(i int, p *painter) []string
	// slot is where the lines of a cell are kept.
	slot(i int) *cache
	// epoch changes when a cell looks different because of another.
	epoch(i int, expanded bool) int
	// contains reports whether the text, in lower case, is somewhere in it.
	contains(text string) bool
}

// cache is a rendered cell.
type cache struct {
	version int // of the content, counted by its owner
	lines   []string
	key     key // what lines was rendered from
	used    int // the frame that showed it last
	known   bool
}

// key is what the lines of a cell depend on.
type key struct {
	version  int
	epoch    int
	width    int
	expanded bool
	small    bool
	theme    int
}

// minPreview is how high a list must be for previews of folded actions.
const minPreview = 9

// maxKept is how many rendered cells are kept while they are not shown.
const maxKept = 400

// List is the transcript. Messages are only added, and only the last changes.
type List struct {
	messages []Message
	width    int
	height   int
	top      place
	follow   bool // the end stays in view
	painter  painter
	themes   int // how many there were
	frame    int
	kept     []*cache
	rows     []place // of what was last in view
	query    string  // marked in what is shown, in lower case
	hit      place   // found last
}

// place is a line of the transcript.
type place struct{ message, cell, line int }

// New makes an empty List.
func New(t Theme) *List {
	l := &List{follow: true, width: 80, height: 20}
	l.SetTheme(t)
	return l
}

// SetTheme changes the looks.
func (l *List) SetTheme(t Theme) {
	l.themes++
	l.painter = painter{theme: t, width: l.width, expanded: l.painter.expanded, small: l.painter.small}
}

// SetSize changes what can be seen. What is at the top stays there.
func (l *List) SetSize(width, height int) {
	l.width, l.height = max(width, 2), max(height, 0)
	l.painter.width, l.painter.small = l.width, l.height < minPreview
}

// Add puts a message at the end.
func (l *List) Add(m Message) { l.messages = append(l.messages, m) }

// Clear takes all messages away.
func (l *List) Clear() {
	l.messages, l.kept, l.top, l.follow = nil, nil, place{}, true
}

// Empty reports whether there is nothing.
func (l *List) Empty() bool { return len(l.messages) == 0 }

// LastAnswer is the answer nearest to the end, nil if there is none.
func (l *List) LastAnswer() *Answer {
	for i := len(l.messages) - 1; i >= 0; i-- {
		if a, ok := l.messages[i].(*Answer); ok {
			return a
		}
	}
	return nil
}

// Messages are all of them, not to be changed.
func (l *List) Messages() []Message { return l.messages }

// Expanded reports whether every line of progress is shown.
func (l *List) Expanded() bool { return l.painter.expanded }

// Expand shows every line of progress, or folds them.
func (l *List) Expand(on bool) { l.painter.expanded = on }

// lines returns the lines of a cell, and how many empty ones stand before them. It
// paints the cell only if what it shows has changed.
func (l *List) lines(message, cell int) (lead int, lines []string) {
	m := l.messages[message]
	c := m.slot(cell)
	k := key{c.version, m.epoch(cell, l.painter.expanded), l.width, l.painter.expanded, l.painter.small, l.themes}
	if !c.known || c.key != k {
		if !c.known {
			l.kept = append(l.kept, c)
		}
		c.lines, c.key, c.known = m.cell(cell, &l.painter), k, true
	}
	c.used = l.frame
	if cell == 0 && message > 0 {
		lead = 1
	}
	return lead, c.lines
}

// forget frees the lines of cells that were not seen for long.
func (l *List) forget() {
	if len(l.kept) < 2*maxKept {
		return
	}
	kept := l.kept[:0]
	for i, c := range l.kept {
		if c.used < l.frame && len(l.kept)-i > maxKept {
			c.lines, c.known = nil, false
			continue
		}
		kept = append(kept, c)
	}
	clear(l.kept[len(kept):])
	l.kept = kept
}

// Drop takes the last message away, if it is a.
func (l *List) Drop(a *Answer) {
	if l.EndsWith(a) {
		l.messages = l.messages[:len(l.messages)-1]
	}
}

// EndsWith reports whether the last message is a.
func (l *List) EndsWith(a *Answer) bool {
	n := len(l.messages)
	return n > 0 && l.messages[n-1] == Message(a)
}

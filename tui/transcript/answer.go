package transcript

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/wrap"
)

// Answer is what came back: texts and stretches of work in the order in which
// they came, and in the end how it went.
type Answer struct {
	parts   []*part
	actions int
	summary string
	failure *Failure
	stopped bool
	done    bool
	final   bool // the last text alone is the answer
	foot    cache
	opened  map[string]bool // actions that the user opened
	by      string
}

// Failure is why there is no more of an answer.
type Failure struct {
	Cause string
	Next  string // what to do now
}

// part is a text, or a stretch of work.
type part struct {
	work     []*step // nil: a text
	epoch    int     // of what the folded steps look like together
	splitter markdown.Splitter
	blocks   []*block // the last one is open until the part is
	closed   int      // blocks that are complete
}

type block struct {
	markdown.Block
	kept cache
}

// Text adds a piece of the answer.
func (a *Answer) Text(s string) {
	p := a.last()
	if p == nil || p.work != nil {
		if s = strings.TrimLeft(s, "\n"); s == "" {
			return // What separates a step from the one before is there already.
		}
		p = &part{}
		a.push(p)
	}
	p.add(s)
}

// add takes the next piece of a text.
func (p *part) add(s string) {
	for _, b := range p.splitter.Add(s) {
		p.set(p.closed, b)
		p.closed++
	}
	if open := p.splitter.Open(); open.Src != "" {
		p.set(p.closed, open)
	} else {
		p.blocks = p.blocks[:p.closed]
	}
}

// complete ends the last line of a text, which may begin a block of its own.
func (p *part) complete() {
	if p.work == nil {
		p.add("\n")
	}
}

// set makes b the block at i.
func (p *part) set(i int, b markdown.Block) {
	if i == len(p.blocks) {
		p.blocks = append(p.blocks, &block{})
	}
	if old := p.blocks[i]; old.Block != b {
		old.Block = b
		old.kept.version++
	}
}

// Progress adds a line about what is done.
func (a *Answer) Progress(line string) { a.append(&step{bare: true, Action: Action{Line: line}}) }

func (a *Answer) push(p *part) {
	if last := a.last(); last != nil {
		last.complete()
		last.change()
	}
	a.parts = append(a.parts, p)
}

func (a *Answer) last() *part {
	if len(a.parts) == 0 {
		return nil
	}
	return a.parts[len(a.parts)-1]
}

// change lets the folded steps of the work be drawn again: what each of them
// shows depends on the others.
func (p *part) change() { p.epoch++ }

// Become takes the content of another answer, which is not used any more.
func (a *Answer) Become(other *Answer) {
	a.parts, a.actions = other.parts, other.actions
	for _, p := range a.parts {
		for _, s := range p.work {
			s.open = a.opened[s.ID]
		}
		p.change()
	}
	a.foot.version++
}

// Resume takes back that the answer has ended.
func (a *Answer) Resume() {
	a.summary, a.stopped, a.failure, a.done = "", false, nil, false
	a.foot.version++
}

// By is the model that answers, "" if it is not known.
func (a *Answer) By() string { return a.by }

// SetBy notes which model answers, for people.
func (a *Answer) SetBy(model string) { a.by = model }

// Actions is how many lines of progress there were.
func (a *Answer) Actions() int { return a.actions }

// End completes the answer with a line about how it went.
func (a *Answer) End(summary string, stopped bool, f *Failure) {
	a.summary, a.stopped, a.failure, a.done = summary, stopped, f, true
	a.Settle(Running, Interrupted)
	if last := a.last(); last != nil {
		last.complete()
		last.change()
	}
	a.foot.version++
}

// Failed reports whether the answer ended in a failure.
func (a *Answer) Failed() bool { return a.failure != nil }

// Done reports whether the answer is complete.
func (a *Answer) Done() bool { return a.done }

// Source is the text of the answer as it came.
func (a *Answer) Source() string {
	var texts []string
	for _, p := range a.parts {
		if p.work == nil {
			texts = append(texts, p.source())
		}
	}
	return strings.Join(texts, "\n\n")
}

// Final reports whether the last text alone is the answer, and what stands before
// it was said on the way.
func (a *Answer) Final(last bool) { a.final = last }

// Answer is the source of the answer without what was said on the way.
func (a *Answer) Answer() string {
	if p := a.last(); a.final && p != nil && p.work == nil {
		return p.source()
	}
	return a.Source()
}

func (p *part) source() string {
	var b strings.Builder
	for _, block := range p.blocks {
		b.WriteString(block.Src)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Current is what the agent does: the latest action that has no result, or the
// latest line of progress where no results are told; "" if there is nothing.
func (a *Answer) Current() string {
	for i := len(a.parts) - 1; i >= 0; i-- {
		w := a.parts[i].work
		for j := len(w) - 1; j >= 0; j-- {
			if w[j].bare || w[j].State == Running {
				return w[j].Line
			}
		}
		if len(w) > 0 {
			return ""
		}
	}
	return ""
}

func (p *part) cells() int {
	return len(p.work) + len(p.blocks)
}

func (a *Answer) cells() int {
	n := 1
	for _, p := range a.parts {
		n += p.cells()
	}
	return n
}

// at finds a cell; the last one, the foot, has no part.
func (a *Answer) at(i int) (*part, int, int) {
	for n, p := range a.parts {
		if i < p.cells() {
			return p, n, i
		}
		i -= p.cells()
	}
	return nil, len(a.parts), 0
}

func (a *Answer) slot(i int) *cache {
	p, _, n := a.at(i)
	switch {
	case p == nil:
		return &a.foot
	case p.work != nil:
		return &p.work[n].kept
	}
	return &p.blocks[n].kept
}

// epoch changes with what a cell depends on besides itself.
func (a *Answer) epoch(i int, expanded bool) int {
	p, _, n := a.at(i)
	if expanded || p == nil || p.work == nil || !p.work[n].plain() {
		return 0
	}
	return p.epoch
}

func (a *Answer) contains(s string) bool {
	for _, p := range a.parts {
		for _, step := range p.work {
			if step.contains(s) {
				return true
			}
		}
		for _, b := range p.blocks {
			if strings.Contains(strings.ToLower(b.Src), s) {
				return true
			}
		}
	}
	return a.failure != nil && strings.Contains(strings.ToLower(a.failure.Cause), s)
}

func (a *Answer) cell(i int, pt *painter) []string {
	p, index, n := a.at(i)
	if p == nil {
		return a.footLines(pt)
	}
	if p.work != nil {
		lines := p.stepLines(n, index == len(a.parts)-1 && !a.done, pt)
		if index == 0 || n > 0 {
			return lines
		}
		return append([]string{""}, lines...)
	}
	lines := pt.indent(pt.render(p.blocks[n].Block))
	if len(lines) == 0 || index+n == 0 || n > 0 && p.blocks[n].Joined {
		return lines
	}
	return append([]string{""}, lines...)
}

func (a *Answer) footLines(pt *painter) []string {
	if !a.done {
		return nil
	}
	var lines []string
	if a.failure != nil {
		for i, l := range wrap.Text(a.failure.Cause, pt.text()-2) {
			mark := "✗ "
			if i > 0 {
				mark = "  "
			}
			lines = append(lines, style(pt.theme.Bad, mark+l))
		}
		for _, l := range wrap.Text(a.failure.Next, pt.text()-2) {
			if l != "" {
				lines = append(lines, "  "+l)
			}
		}
	}
	if a.summary != "" {
		mark := "✓ "
		sgr := pt.theme.Good
		if a.stopped || a.failure != nil {
			mark, sgr = "■ ", pt.theme.Faint
		}
		if a.failure != nil {
			mark = "  "
		}
		lines = append(lines, style(sgr, mark)+style(pt.theme.Faint, cutLine(a.summary, pt.text()-2)))
	}
	lines = pt.indent(lines)
	if len(a.parts) > 0 && len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// count is a number with what is counted.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Blank reports whether nothing of an answer came.
func (a *Answer) Blank() bool { return len(a.parts) == 0 }

// Cut takes a text off the end of the answer, if it ends with it.
func (a *Answer) Cut(end string) {
	p := a.last()
	if p == nil || p.work != nil {
		return
	}
	src := p.source()
	rest, ok := strings.CutSuffix(src, strings.TrimSpace(end))
	if !ok || strings.TrimSpace(end) == "" {
		return
	}
	a.parts = a.parts[:len(a.parts)-1]
	a.Text(strings.TrimRight(rest, "\n"))
}

// Working reports whether the latest that came is an action and no text.
func (a *Answer) Working() bool {
	p := a.last()
	return p != nil && p.work != nil
}

package transcript

import "strings"

// View returns the lines in view, as many as the list is high.
func (l *List) View() []string {
	l.frame++
	if l.follow {
		l.top = l.back(l.end(), l.height)
	}
	l.clamp()
	out := make([]string, 0, l.height)
	l.rows = l.rows[:0]
	for p, ok := l.top, len(l.messages) > 0; ok && len(out) < l.height; p, ok = l.next(p) {
		lead, lines := l.lines(p.message, p.cell)
		for i := p.line; i < lead+len(lines) && len(out) < l.height; i++ {
			l.rows = append(l.rows, place{p.message, p.cell, i})
			if i < lead {
				out = append(out, "")
				continue
			}
			out = append(out, l.mark(lines[i-lead]))
		}
	}
	for len(out) < l.height {
		out = append(out, "")
	}
	l.forget()
	return out
}

// Scroll moves by lines, towards the end if n is positive.
func (l *List) Scroll(n int) {
	if len(l.messages) == 0 || n == 0 {
		return
	}
	l.clamp()
	if n < 0 {
		if l.follow {
			l.top = l.back(l.end(), l.height)
		}
		l.follow = false
		l.top = l.back(l.top, -n)
		return
	}
	last := l.back(l.end(), l.height)
	l.top = l.forward(l.top, n)
	if !l.top.before(last) {
		l.top, l.follow = last, true
	}
}

// CanScroll reports whether there is more below, or above.
func (l *List) CanScroll(down bool) bool {
	if down || len(l.messages) == 0 {
		return !l.follow
	}
	if l.follow {
		l.top = l.back(l.end(), l.height)
	}
	return l.top != place{}
}

// Page scrolls by screens.
func (l *List) Page(n int) { l.Scroll(n * max(l.height-2, 1)) }

// Top goes to the beginning.
func (l *List) Top() { l.top, l.follow = place{}, false }

// Bottom goes to the end, and stays there when there is more.
func (l *List) Bottom() { l.follow = true }

// Following reports whether the end is in view.
func (l *List) Following() bool { return l.follow }

func (p place) before(q place) bool {
	if p.message != q.message {
		return p.message < q.message
	}
	if p.cell != q.cell {
		return p.cell < q.cell
	}
	return p.line < q.line
}

// end is behind the last line.
func (l *List) end() place { return place{message: len(l.messages)} }

// clamp brings the top back into a transcript that became shorter.
func (l *List) clamp() {
	if len(l.messages) == 0 {
		l.top = place{}
		return
	}
	if l.top.message >= len(l.messages) {
		l.top = place{message: len(l.messages) - 1}
	}
	l.top.cell = min(l.top.cell, max(l.messages[l.top.message].cells()-1, 0))
	if l.messages[l.top.message].cells() > 0 {
		lead, lines := l.lines(l.top.message, l.top.cell)
		l.top.line = min(l.top.line, max(lead+len(lines)-1, 0))
	}
}

// next is the first line of the next cell.
func (l *List) next(p place) (place, bool) {
	p.line = 0
	p.cell++
	for p.message < len(l.messages) && p.cell >= l.messages[p.message].cells() {
		p.message, p.cell = p.message+1, 0
	}
	return p, p.message < len(l.messages)
}

// back goes n lines back from p, or to the beginning.
func (l *List) back(p place, n int) place {
	for n > 0 {
		if p.line > 0 {
			step := min(p.line, n)
			p.line -= step
			n -= step
			continue
		}
		q := p
		q.cell--
		for q.cell < 0 {
			q.message--
			if q.message < 0 {
				return place{}
			}
			q.cell = l.messages[q.message].cells() - 1
		}
		lead, lines := l.lines(q.message, q.cell)
		q.line = lead + len(lines)
		p = q
	}
	return p
}

// forward goes n lines on from p, or to the end.
func (l *List) forward(p place, n int) place {
	for {
		if p.message >= len(l.messages) {
			return l.end()
		}
		if l.messages[p.message].cells() > p.cell {
			lead, lines := l.lines(p.message, p.cell)
			if count := lead + len(lines); p.line+n < count {
				p.line += n
				return p
			} else if count > p.line {
				n -= count - p.line
			}
		}
		next, ok := l.next(p)
		if !ok {
			return l.end()
		}
		p = next
	}
}

// Find looks for text, upwards from the end or, again, up or down from the
// line found before, around the ends, and brings the line into view. It reports
// whether there is one.
func (l *List) Find(text string, down, again bool) bool {
	l.query = strings.ToLower(text)
	if l.query == "" || len(l.messages) == 0 {
		return false
	}
	at := l.end()
	if again && l.hit.message < len(l.messages) {
		at = l.hit
	}
	step := 1
	if !down {
		step = -1
	}
	n := len(l.messages)
	for i, m := 0, min(at.message, n-1); i <= n; i, m = i+1, (m+step+n)%n {
		if !l.messages[m].contains(l.query) {
			continue
		}
		if p, ok := l.within(m, at, down, i == 0); ok {
			l.hit, l.top, l.follow = p, l.back(p, l.height/3), false
			return true
		}
	}
	return false
}

// within finds the line of message m that is next to at; any if not near.
func (l *List) within(m int, at place, down, near bool) (place, bool) {
	var found place
	ok := false
	for c := range l.messages[m].cells() {
		lead, lines := l.lines(m, c)
		for i, line := range lines {
			p := place{m, c, lead + i}
			if near && (down && !at.before(p) || !down && !p.before(at)) || columns(line, l.query) == nil {
				continue
			}
			if found, ok = p, true; down {
				return found, true
			}
		}
	}
	return found, ok
}

// Mark ends or changes what is marked without moving.
func (l *List) Mark(text string) { l.query = strings.ToLower(text) }

// Matches is how many messages hold the marked text.
func (l *List) Matches() int {
	n := 0
	for _, m := range l.messages {
		if l.query != "" && m.contains(l.query) {
			n++
		}
	}
	return n
}

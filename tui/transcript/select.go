package transcript

// found is an action and where it stands.
type found struct {
	at     place
	answer *Answer
	part   *part
	step   *step
}

// actions lists those that open, in their order.
func (l *List) actions() []found {
	var all []found
	for i, m := range l.messages {
		a, ok := m.(*Answer)
		if !ok {
			continue
		}
		cell := 0
		for _, p := range a.parts {
			for n, s := range p.work {
				if s.opens() {
					all = append(all, found{place{i, cell + n, 0}, a, p, s})
				}
			}
			cell += p.cells()
		}
	}
	return all
}

// set opens an action, or folds it.
func (f found) set(open bool) {
	f.step.open = open
	if f.answer.opened == nil {
		f.answer.opened = make(map[string]bool)
	}
	f.answer.opened[f.step.ID] = open
	f.step.kept.version++
	f.part.change()
}

// Unfold opens the latest action; called again, everything; then it folds all.
func (l *List) Unfold() {
	all := l.actions()
	switch {
	case l.painter.expanded:
		l.painter.expanded = false
		for _, f := range all {
			f.set(false)
		}
	case len(all) > 0 && !all[len(all)-1].step.open:
		all[len(all)-1].set(true)
	default:
		l.painter.expanded = true
	}
}

// Select moves the selection to an earlier or a later action, and brings it into
// view. It reports whether there is one.
func (l *List) Select(earlier bool) bool {
	all := l.actions()
	if len(all) == 0 {
		return false
	}
	at := len(all) - 1
	for i, f := range all {
		if !f.step.selected {
			continue
		}
		f.mark(false)
		switch {
		case earlier:
			at = max(i-1, 0)
		default:
			at = min(i+1, len(all)-1)
		}
		break
	}
	all[at].mark(true)
	l.reveal(all[at].at)
	return true
}

func (f found) mark(on bool) {
	f.step.selected = on
	f.step.kept.version++
	f.part.change()
}

// Selected reports whether an action is selected.
func (l *List) Selected() bool {
	for _, f := range l.actions() {
		if f.step.selected {
			return true
		}
	}
	return false
}

// Unselect ends the selection, and reports whether there was one.
func (l *List) Unselect() bool {
	for _, f := range l.actions() {
		if f.step.selected {
			f.mark(false)
			return true
		}
	}
	return false
}

// Toggle opens the selected action or folds it, and reports whether there is one.
func (l *List) Toggle() bool {
	for _, f := range l.actions() {
		if f.step.selected {
			f.set(!f.step.open)
			return true
		}
	}
	return false
}

// Click opens the action in a row of what was last in view, or folds it, and
// reports whether there is one.
func (l *List) Click(row int) bool {
	if row < 0 || row >= len(l.rows) {
		return false
	}
	for _, f := range l.actions() {
		if f.at.message == l.rows[row].message && f.at.cell == l.rows[row].cell {
			f.set(!f.step.open)
			return true
		}
	}
	return false
}

// reveal brings a place into view, if it is not.
func (l *List) reveal(p place) {
	l.View()
	for _, row := range l.rows {
		if row.message == p.message && row.cell == p.cell {
			return
		}
	}
	l.top, l.follow = l.back(p, l.height/3), false
}

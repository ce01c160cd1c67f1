package transcript

import "github.com/ohgw/ohgw/tui/wrap"

// Refusal is something that the sandbox refused while the agent worked. Its texts
// are harmless, one line each.
type Refusal struct {
	ID    int    // tells those of a transcript apart
	What  string // "example.com:443", "write /etc/hosts"
	State string // what was decided, or what can be done; may be empty
}

// Refuse adds a refusal to the action at work, or takes in what is new of one.
func (a *Answer) Refuse(r Refusal) {
	if a.Restate(r) {
		return
	}
	p, s := a.atWork()
	if s == nil {
		s = &step{bare: true, Action: Action{Line: "the agent starts"}}
		a.append(s)
		a.actions-- // the step is not an action
		p = a.last()
	}
	s.refused = append(s.refused, r)
	s.kept.version++
	p.change()
}

// Restate takes in what is new of a refusal. It reports whether the answer has it.
func (a *Answer) Restate(r Refusal) bool {
	for _, p := range a.parts {
		for _, s := range p.work {
			for i := range s.refused {
				if s.refused[i].ID == r.ID {
					s.refused[i] = r
					s.kept.version++
					p.change()
					return true
				}
			}
		}
	}
	return false
}

// Refusals are those of the whole answer.
func (a *Answer) Refusals() (all []Refusal) {
	for _, p := range a.parts {
		for _, s := range p.work {
			all = append(all, s.refused...)
		}
	}
	return all
}

// atWork is the latest action that goes on, or else the latest action.
func (a *Answer) atWork() (p *part, s *step) {
	for i := len(a.parts) - 1; i >= 0; i-- {
		w := a.parts[i].work
		for j := len(w) - 1; j >= 0; j-- {
			if !w[j].bare && w[j].State == Running {
				return a.parts[i], w[j]
			}
			if s == nil {
				p, s = a.parts[i], w[j]
			}
		}
	}
	return p, s
}

// refusals are the lines about what the sandbox refused during a step.
func (p *painter) refusals(s *step, width int) (lines []string) {
	for _, r := range s.refused {
		line := "⊘ sandbox refused " + r.What
		if r.State != "" {
			line += " · " + r.State
		}
		for i, l := range wrap.Text(line, max(width-2, 2)) {
			lines = append(lines, style(p.theme.Warn, [2]string{"", "  "}[min(i, 1)]+l))
		}
	}
	return lines
}

package transcript

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/tui/human"
)

// Action is one thing that the agent did, as far as the gateway described it.
// Its texts are safe; Line and Path are one line each.
type Action struct {
	ID    string
	State State
	Kind  Kind
	Tool  string
	Line  string // what it is, in short
	Input string // all of what the tool was told

	Took      string // how long, for people; empty where unknown
	ExitCode  *int
	Output    string
	OutputCut int // bytes that are missing in Output
	Path      string
	Diff      string // a unified patch without a header
	DiffCut   int    // lines that are missing in Diff
	Added     int
	Removed   int
	Tasks     []Task
	Picture   *Picture // that the browser showed
}

// Picture is a picture of an action, as a file of the agent's machine.
type Picture struct {
	Path  string
	About string // its kind and size, in one line
}

// Task is one step of the agent's plan.
type Task struct{ Title, Notes, Status string }

// State is how far an action is.
type State int

// The states of an action.
const (
	Running State = iota
	Done
	Failed
	Rejected
	Interrupted
	Waiting // for a confirmation
)

// Kind is what an action is about.
type Kind int

// The kinds of actions.
const (
	Other Kind = iota
	Command
	Edit
	Read
	Plan
	Think
)

// step is an action in a stretch of work, or one of which there is only a line.
type step struct {
	Action

	bare     bool // there is only a line
	open     bool
	selected bool
	stale    bool // a newer plan took its place
	refused  []Refusal
	shown    []string // lines that show the picture, of one width; nil: its About stands for it
	kept     cache
}

// mark begins the line of a step.
func (s *step) mark() string {
	if s.bare {
		return "· "
	}
	return [...]string{Running: "◌ ", Done: "✓ ", Failed: "✗ ", Rejected: "✗ ", Interrupted: "■ ", Waiting: "? "}[s.State]
}

// facts writes what there is to say of the result in one line: "exit code 1 · 0.3 s".
func (s *step) facts() string {
	var all []string
	switch s.State {
	case Failed:
		if s.ExitCode == nil {
			all = append(all, "failed")
		}
	case Rejected:
		all = append(all, "rejected")
	case Interrupted:
		all = append(all, "interrupted")
	case Waiting:
		all = append(all, "waits for your confirmation")
	case Running, Done:
	}
	if s.ExitCode != nil && *s.ExitCode != 0 {
		all = append(all, "exit code "+strconv.Itoa(*s.ExitCode))
	}
	if s.Added+s.Removed > 0 {
		all = append(all, "+"+human.Tokens(int64(s.Added))+" −"+human.Tokens(int64(s.Removed)))
	}
	if s.Took != "" {
		all = append(all, s.Took)
	}
	return strings.Join(all, " · ")
}

// opens reports whether there is more to see than the line.
func (s *step) opens() bool {
	return s.Picture != nil || s.Output != "" || s.Diff != "" || s.DiffCut > 0 || len(s.Tasks) > 0 || s.Input != ""
}

// plain reports whether its line is all that is shown while it is folded: such
// steps are counted together.
func (s *step) plain() bool {
	if s.bare || len(s.refused) > 0 {
		return len(s.refused) == 0
	}
	return !s.open && !s.selected && s.State != Failed && s.State != Rejected && s.State != Waiting && s.written() == "" && s.Diff == "" && s.DiffCut == 0 && (len(s.Tasks) == 0 || s.stale) && s.Picture == nil
}

// written is what an interrupted command had written by then: what stands below the line
// that says so.
func (s *step) written() string {
	if s.State != Interrupted || s.Kind != Command {
		return ""
	}
	_, text, _ := strings.Cut(s.Output, "\n")
	return text
}

// Act adds an action, or takes in what is new of one.
func (a *Answer) Act(act Action) {
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.ID == act.ID && !s.bare {
				if act.Input == "" {
					act.Input = s.Input
				}
				s.Action = act
				s.kept.version++
				a.replan(s)
				p.change()
				a.foot.version++
				return
			}
		}
	}
	s := &step{Action: act}
	a.append(s)
	a.replan(s)
}

// Show has lines stand for the picture of an action.
func (a *Answer) Show(id string, lines []string) {
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.ID == id && !s.bare {
				s.shown = lines
				s.kept.version++
				p.change()
			}
		}
	}
}

// LastPicture is the latest picture of an action, or nil.
func (a *Answer) LastPicture() *Picture {
	for _, p := range slices.Backward(a.parts) {
		for _, s := range slices.Backward(p.work) {
			if s.Picture != nil {
				return s.Picture
			}
		}
	}
	return nil
}

// replan lets only the newest plan of the answer be shown by itself.
func (a *Answer) replan(newest *step) {
	if len(newest.Tasks) == 0 {
		return
	}
	for _, p := range a.parts {
		for _, s := range p.work {
			if s != newest && len(s.Tasks) > 0 && !s.stale {
				s.stale = true
				s.kept.version++
				p.change()
			}
		}
	}
}

// append adds a step to the work at hand.
func (a *Answer) append(s *step) {
	p := a.last()
	if p == nil || p.work == nil {
		p = &part{work: []*step{}}
		a.push(p)
	}
	s.open = a.opened[s.ID]
	p.work = append(p.work, s)
	p.change()
	a.actions++
}

// Settle gives the actions in one state another: nothing more comes of them.
func (a *Answer) Settle(from, to State) {
	for _, p := range a.parts {
		for _, s := range p.work {
			if !s.bare && s.State == from {
				s.State = to
				s.kept.version++
				p.change()
			}
		}
	}
}

// Has reports whether the answer has an action.
func (a *Answer) Has(id string) bool {
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.ID == id && !s.bare {
				return true
			}
		}
	}
	return false
}

// CutOff are the IDs of the actions that were interrupted and have brought nothing.
func (a *Answer) CutOff() (ids []string) {
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.State == Interrupted && s.Output == "" && !s.bare {
				ids = append(ids, s.ID)
			}
		}
	}
	return ids
}

// FailedActions is how many actions failed.
func (a *Answer) FailedActions() int {
	n := 0
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.State == Failed && !s.bare {
				n++
			}
		}
	}
	return n
}

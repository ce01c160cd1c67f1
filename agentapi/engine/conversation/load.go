package conversation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// load reads what the directory holds and repairs what a crash has left.
func (b *branch) load(usage string) error {
	if err := b.stats.Load(b.dir.State.Stats); err != nil {
		return &store.DamageError{File: "base_state.json", Err: fmt.Errorf("stats: %w", err)}
	}
	b.stats.Begin(usage, b.cfg.ModelName)
	head := b.dir.Head()
	s := &b.dir.State
	if n := b.dir.CutOff(); n > 0 {
		b.cfg.Log.Warn("an event of the conversation is missing on the disk; those behind it are left out", "conversation", b.id, "left_out", n, "directory", b.dir.Path())
		b.notices.add(gapText(n))
	}
	// A base state that lags behind does not know of the run that it lags by.
	lags := s.LeafEventID != head
	// Nor does one of a message that was to be answered.
	crashed := s.Status == event.Running || lags && (b.dir.LastStatus() == event.Running || s.LeafEventID != "" && b.dir.Unanswered(head))
	b.asks.Load(s.AgentState)
	defer b.dir.Release() // the view has what is sent; the rest is on the disk
	if err := b.goTo(head); err != nil {
		return err
	}
	if b.head != "" {
		s.LeafEventID, s.HeadIsEmpty = b.head, false
	}
	err := b.recover(crashed)
	if g, lookErr := unendedGoal(b.dir); lookErr != nil {
		err = errors.Join(err, lookErr)
	} else if g != nil { // it was pursued when the process before this one died
		g.Active, g.Status, g.Verdict = false, event.GoalInterrupted, nil
		err = errors.Join(err, b.record(KeyGoal, *g, durable))
	}
	return err
}

// gapText says that events are left out.
func gapText(n int) string {
	return fmt.Sprintf("An event of this conversation is missing on the disk. What was said and done behind it, %d more events, is not known here any more. "+
		"Its files stay in the directory of the conversation, with names that end in .beyond-gap.", n)
}

// recover repairs what a crash has left of the branch at hand. crashed says that
// the process before this one died during a run.
func (b *branch) recover(crashed bool) error {
	s := &b.dir.State
	if s.Status == event.Paused && len(b.open) > 0 && mustAsk(*s, b.open) {
		// OpenHands takes the next message for an approval, which the user has not given.
		if err := b.setStatus(event.Waiting); err != nil {
			return err
		}
		return b.save(durable)
	}
	// What waits for a person, or was paused, is to be done. Everything else
	// that has no result died with its process.
	// A pause that the base state has from before the run that died is not the
	// end of that run.
	paused := s.Status == event.Paused && !crashed
	if s.Status == event.Waiting || paused || !crashed && len(b.open) == 0 {
		return nil
	}
	if err := errors.Join(b.backToAction(), b.repair(leftBehind)); err != nil {
		return err
	}
	if crashed {
		if err := b.setStatus(event.Failed); err != nil {
			return err
		}
	}
	return b.save(durable)
}

// unendedGoal finds the goal of the last run in the log; nil if there is none, or it has ended. A
// run for a goal has it before its message, or behind that of a person.
func unendedGoal(dir *store.Dir) (*event.Goal, error) {
	asked := false
	for i := dir.Len() - 1; i >= 0; i-- {
		e, _, _, err := dir.From(i).Next()
		if err != nil {
			return nil, err
		}
		if g, ok := e.Goal(); ok {
			if !g.Active || g.Objective == "" || g.MaxIterations < 1 {
				return nil, nil
			}
			return &g, nil
		}
		if _, update := e.Body.(*event.StateUpdate); update {
			continue
		}
		if asked {
			return nil, nil
		}
		asked = e.Source == event.SourceUser && e.Kind() == (*event.Message)(nil).Kind()
	}
	return nil, nil
}

// backToAction makes the action that died the head, so that its result follows it, as
// OpenHands has it. What stands behind it otherwise, such as its analysis, is shown to
// no model. Of several actions each would lose the others: their results follow each
// other.
func (b *branch) backToAction() error {
	if len(b.open) != 1 || b.open[0].ID == b.head {
		return nil
	}
	events, err := b.dir.Branch(b.head)
	if err != nil {
		return err
	}
	id := b.open[0].ID
	for _, e := range slices.Backward(events) {
		if e.ID == id {
			break
		}
		switch e.Body.(type) {
		case *event.SecurityAnalysis, *event.HookExecution:
		default:
			return nil
		}
	}
	// First the state, then the result: a log whose state names what the branch has no
	// more ends there.
	b.head, b.dir.State.LeafEventID = id, id
	return b.save(durable)
}

// catchUp reads what programs without a lease have appended, such as a script with
// OpenHands' SDK. The conversation goes on behind it, where it continues what is
// known here; OpenHands stays on its own branch. Those who watch are not told, as in
// OpenHands: they would take the end of another program's run for that of ours. The
// log has it.
func (b *branch) catchUp() error {
	if err := b.dir.Sync(); err != nil {
		return err
	}
	foreign := b.dir.Foreign()
	if len(foreign) == 0 {
		return nil
	}
	head, s := b.dir.Head(), &b.dir.State
	if head == b.head {
		return nil
	}
	if err := b.goTo(head); err != nil {
		return err
	}
	was := s.Status
	for _, e := range foreign {
		s.Learn(e)
	}
	if s.Status == event.Running { // not here
		s.Status = was
	}
	s.LeafEventID, s.HeadIsEmpty = head, false
	return nil
}

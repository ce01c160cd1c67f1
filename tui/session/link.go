package session

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
)

// Link is what is known of the gateway.
type Link struct {
	State    LinkState
	Err      error
	Since    time.Time // of the state
	Asking   bool      // the list of models is on its way
	attempts int       // in vain
	planned  bool      // it will be asked for again by itself
}

// LinkState is the connection to the gateway.
type LinkState int

// The states of a Link.
const (
	Connecting LinkState = iota
	Ready
	Unreachable
	Locked
	NoModels
	Broken // it answers, but not like a gateway
)

// noSuchModel is the code of a gateway that does not have the model of a question.
const noSuchModel = "model_not_found"

// Stuck reports whether the user has to do something before there are models.
func (l Link) Stuck() bool {
	return l.State == Locked || l.State == Broken || l.State == NoModels
}

// Connect asks for the models, unless they are on their way.
func (s *Session) Connect() tea.Cmd {
	if s.Link.Asking {
		return nil
	}
	s.Link.Asking = true
	return listModels(s.ctx, s.cfg.Endpoint, s.typed.finder(s.Model))
}

// set notes what is known of the gateway now.
func (l *Link) set(now time.Time, state LinkState, err error) {
	if l.State != state {
		l.Since = now
	}
	l.State, l.Err = state, err
	if state == Ready {
		l.attempts = 0
	}
}

// listed takes in the models, or why there are none.
func (s *Session) listed(msg ModelsMsg) tea.Cmd {
	s.Link.Asking = false
	back := s.Link.State == Unreachable
	cmd := s.relink(msg)
	var renamed bool
	s.Model, renamed = s.typed.found(msg, s.Model)
	s.view.Linked()
	if s.Link.State != Ready {
		return cmd
	}
	return tea.Batch(s.Sandbox.look(false), s.ready(back, renamed, msg.Missing))
}

// ready continues what waited for the gateway. back says that the gateway was lost
// before, renamed that the model was found by what the user typed, and missing why it was
// not.
func (s *Session) ready(back, renamed bool, missing error) tea.Cmd {
	if renamed && s.Turn == nil && s.Failure != nil && s.Failure.Code == noSuchModel {
		return tea.Batch(s.view.Say("the model is "+s.ModelName()), s.Retry())
	}
	if back && s.Turn == nil && s.Failure != nil && s.Failure.Kind == gateway.Unreachable {
		return tea.Batch(s.view.Say(s.cfg.Place.Name()+" answers again"), s.Retry())
	}
	if s.unread {
		return s.recall()
	}
	switch {
	case slices.ContainsFunc(s.Models, func(x gateway.Model) bool { return x.ID == s.Model }):
	case missing != nil:
		s.note(human.Sentence(missing.Error()) + ". " + s.cfg.Models + " shows those there are.")
	case s.Log.LastAnswer() == nil:
		s.note("The model " + safe.Line(s.Model) + " is not available here now. " + s.cfg.Models + " shows those there are.")
	}
	return s.Next()
}

// relink notes what an answer about the models tells of the gateway.
func (s *Session) relink(msg ModelsMsg) tea.Cmd {
	if msg.Err != nil {
		return s.unlisted(msg.Err)
	}
	s.Models = msg.Models
	if len(s.Models) == 0 {
		s.Link.set(s.cfg.Now(), NoModels, nil)
		return s.Link.lookAgain(s.ctx)
	}
	s.Link.set(s.cfg.Now(), Ready, nil)
	if s.Model == "" {
		s.Model = gateway.Preferred(s.Models)
	}
	return nil
}

func (s *Session) unlisted(err error) tea.Cmd {
	e := asGateway(err)
	switch e.Kind {
	case gateway.Unreachable:
		return s.unreachable(e)
	case gateway.Locked:
		s.Link.set(s.cfg.Now(), Locked, e)
		s.Link.attempts++
		return nil
	case gateway.Failed, gateway.Busy, gateway.Refused, gateway.Stranger:
	}
	s.Link.set(s.cfg.Now(), Broken, e)
	return s.Link.lookAgain(s.ctx)
}

func (s *Session) unreachable(e *gateway.Error) tea.Cmd {
	s.Link.set(s.cfg.Now(), Unreachable, e)
	return s.Link.lookAgain(s.ctx)
}

// lookAgain asks for the models after a while that grows.
func (l *Link) lookAgain(ctx context.Context) tea.Cmd {
	if l.planned {
		return nil
	}
	l.planned = true
	wait := min(time.Second<<min(l.attempts, 4), 10*time.Second)
	l.attempts++
	return after(ctx, wait, AgainMsg{})
}

// again looks for the gateway once more, if it is still away.
func (s *Session) again() tea.Cmd {
	s.Link.planned = false
	if s.Link.State == Ready || s.Link.State == Locked || s.Turn != nil {
		return nil
	}
	return s.Connect()
}

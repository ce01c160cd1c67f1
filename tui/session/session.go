// Package session is a chat without a screen: the conversation, the question
// that is on its way and its answer, the questions that wait, the action that
// waits for a confirmation, the model, and the connection to the gateway. It
// decides what happens; a [View] shows it and says what the user wants.
//
// What has a state of its own is a type of its own: the sandbox, the user's commands, the
// connection, the turn. They share the log and the view with the session.
//
// A Session is changed by one goroutine. Its methods read and write nothing:
// they return commands, which the view runs outside of that goroutine, and
// whose messages it gives to [Session.Update]. They are Bubble Tea's commands,
// but a view needs no Bubble Tea to run them.
//
// Text from outside (answers, progress, errors, names) is made harmless before
// it is kept: what is kept may be printed.
package session

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// Session is the state of a chat. Views read its fields and change none.
type Session struct {
	*core

	Link    Link
	Models  []gateway.Model
	Model   string // the one that is asked; "" before there is one
	Convo   Conversation
	System  string         // instructions that go with each question
	Images  []Image        // go with the next question
	Turn    *Turn          // the one that goes on, or nil
	Failure *gateway.Error // of the last question, or nil
	Pending []string       // the actions that wait for a confirmation, or nil
	Queue   []Outgoing     // questions written while the agent works
	// Confirmation is the mode that goes with each question; empty: the mode that the
	// conversation has.
	Confirmation gateway.Confirmation
	Where        Where           // the directory of the conversation
	Tokens       [2]int64        // in and out, of the conversation
	Context      gateway.Context // how full the model's context is
	Cost         float64         // US dollars, as far as known, of the conversation
	Sandbox      Sandbox         // of the gateway's agents, and what it refused
	Commands     Commands        // of the user
	Files        Files           // to refer to
	Kept         Kept            // the conversations that can be gone on with
	last         *gateway.Question
	typed        typedModel
	// unread: what was said in the conversation that the chat begins with is still
	// to be shown. recalling is the conversation that is asked for, or "".
	unread    bool
	recalling string
	// named is the directory that goes with each question: that of a conversation
	// which was begun here. One that is resumed keeps its own.
	named   string
	ignored string // what the gateway last said it left out

	consent   consent
	asked     int  // questions that were put into the queue
	referring bool // the files that the first of the queue mentions are looked for
}

// New makes a session that shows itself in view. Everything it begins ends
// with ctx.
func New(ctx context.Context, cfg Config, view View) *Session {
	c := &core{ctx: ctx, cfg: cfg, view: view, Log: transcript.New(transcript.Theme{})}
	s := &Session{
		core: c, Sandbox: Sandbox{core: c}, Commands: Commands{core: c}, Files: Files{c}, Kept: Kept{c},
		Model: cfg.Start.Model, typed: typedModel{cfg.Start.Model, cfg.Start.Find}, System: cfg.Start.System, Images: cfg.Start.Images,
		Convo: Conversation{ID: cfg.Start.Conversation, Place: cfg.Place.Title, Workspace: cfg.Start.Resumes},
		Link:  Link{Since: cfg.Now()},
	}
	if s.Convo.ID == "" {
		s.Convo.ID, s.Convo.Workspace = cfg.NewID(), cfg.Start.Workspace
	}
	if cfg.Start.Conversation == "" || cfg.Start.Insists {
		s.named = s.Convo.Workspace
	}
	if text := cfg.Start.Text; text != "" {
		s.Queue = append(s.Queue, Outgoing{Text: text, Shown: safe.Text(text), Images: s.Images})
		s.Images = nil
	}
	return s
}

// Update takes in the message of a command. It reports whether the message was
// one of the session's.
func (s *Session) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case BatchMsg:
		return s.batch(msg), true
	case ModelsMsg:
		return s.listed(msg), true
	case WhereMsg:
		s.Where = msg.Where
		return nil, true
	case AgainMsg:
		return s.again(), true
	case workedMsg:
		s.Working--
		return s.Update(msg.msg)
	case AttachedMsg:
		return s.attached(msg), true
	case DoneMsg:
		return s.done(msg), true
	case referredMsg:
		return s.referred(msg), true
	case ShellMsg:
		return s.Commands.ran(msg), true
	case sandboxMsg:
		s.Sandbox.found(msg)
		return nil, true
	case heldMsg:
		return s.Sandbox.holdEnded(msg), true
	case grantedMsg:
		if msg.convo != s.Convo.ID {
			return s.Next(), true
		}
		return tea.Batch(s.Sandbox.decided(msg), s.Next()), true
	}
	return s.updateKept(msg)
}

// updateKept takes in what is known of conversations.
func (s *Session) updateKept(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case RecentMsg:
		return s.recalled(msg), true
	case EarlierMsg:
		return s.earlier(msg), true
	case loadedMsg:
		return s.Kept.loaded(msg), true
	case condensedMsg:
		return s.condensed(msg), true
	case stoppedMsg:
		return s.cutOff(msg), true
	case removedMsg:
		return s.removed(msg), true
	case RememberedMsg:
		if msg.Err != nil {
			return s.view.Say("the conversation is not saved: " + msg.Err.Error()), true
		}
		return nil, true
	}
	return nil, false
}

// Busy reports whether the gateway is asked for something at the moment, or a
// command of the user runs.
func (s *Session) Busy() bool { return s.Turn != nil || s.Link.Asking || s.Commands.Running != nil }

// Dir is the directory that the conversation works in, absolute; empty if it is
// not known.
func (s *Session) Dir() string { return s.Convo.Workspace }

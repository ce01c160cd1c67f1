package session

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// core is what all parts of a chat have in common.
type core struct {
	Log     *transcript.List // what was said
	Working int              // commands on their way that the next question waits for

	ctx     context.Context // of everything the chat asks for
	cfg     Config
	view    View
	streams Tracker
}

// Work makes a command of cmd that counts as work while it runs: a view that
// reads ahead waits for it before it takes the next line.
func (s *core) Work(cmd tea.Cmd) tea.Cmd {
	s.Working++
	return func() tea.Msg { return workedMsg{cmd()} }
}

// Wait waits until no question is on its way, and lets none begin any more.
func (s *core) Wait() { s.streams.wait() }

// note adds a line of the chat itself to the log.
func (s *core) note(text string) { s.Note(text, false) }

// Note adds a line of the chat itself to the log; a bad one is about something
// that did not work.
func (s *core) Note(text string, bad bool) {
	text = safe.Text(text)
	s.Log.Add(transcript.NewNote(text, bad))
	s.view.Noted(text, bad)
}

package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
)

// model shows a session on a screen. It is changed by Update alone, on one
// goroutine.
type model struct {
	ctx  context.Context // of everything the chat asks for
	cfg  Config
	chat *session.Session

	width, height int
	canvas        canvas
	looks         looks

	welcome  welcome
	input    composer
	menu     menu
	vim      *editor.Vim // nil: the input has the keys of a shell
	drafts   drafts
	notifier notifier
	adding   adding
	open     component // takes the keys; nil: the input does
	granting granting
	shots    shots
	status   status
	wheel    wheel
	mouse    bool   // the wheel reports to us
	leaving  bool   // Ctrl+C once more leaves
	copied   string // the block of code that a key copied last
}

// component is a part of the screen that is opened, and takes what is typed
// until it closes.
type component interface {
	// key takes a key. Nothing is left open when closed.
	key(msg tea.KeyPressMsg) (cmd tea.Cmd, closed bool)
	// paste takes a text, or closes and leaves it to the input.
	paste(text string) (taken bool)
	// scroll takes the wheel, in lines down. Not taken, it moves the transcript.
	scroll(lines int) (taken bool)
	// view draws at most height lines over the end of the transcript.
	view(l looks, width, height int) []string
}

// prompter is a component that is written in, in place of the input.
type prompter interface {
	// prompt draws the line, with the column of the cursor.
	prompt(l looks, width int) (line string, x int)
}

func newModel(ctx context.Context, cfg Config) *model {
	m := &model{ctx: ctx, cfg: cfg, width: 80, height: 24, canvas: canvas{theme: cfg.Theme, dark: true, coloured: true}, mouse: cfg.Mouse}
	m.chat = session.New(ctx, cfg.session("press r", "Ctrl+P", true), m)
	m.status = status{chat: m.chat, place: cfg.Place, now: cfg.Now}
	m.menu.cfg, m.menu.chat, m.menu.input = &m.cfg, m.chat, &m.input
	m.drafts = drafts{ctx: ctx, cfg: &m.cfg, chat: m.chat, input: &m.input, say: m.Say}
	m.notifier = notifier{cfg: &m.cfg, chat: m.chat}
	m.adding = adding{chat: m.chat}
	m.granting = granting{chat: m.chat, now: cfg.Now}
	m.shots = newShots(cfg, m.chat)
	if cfg.Vim {
		m.vim = &editor.Vim{}
	}
	m.restyle()
	if cfg.Place.Notice != "" {
		m.welcome.notices = append(m.welcome.notices, safe.Text(cfg.Place.Notice))
	}
	return m
}

// Init starts what the chat needs to know: the models and the background.
func (m *model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.chat.Open(), m.chat.Look(), m.status.move(), m.shots.ask())
}

func (m *model) restyle() {
	m.looks = newLooks(m.canvas)
	m.chat.Log.SetTheme(m.looks.theme)
}

// state implements [view].
func (m *model) state() *session.Session { return m.chat }

// Say implements [session.View].
func (m *model) Say(text string) tea.Cmd { return m.status.say(text) }

// Noted implements [session.View]: the transcript shows it.
func (m *model) Noted(string, bool) {}

// Came implements [session.View]: the transcript shows it. A program that waits is
// news, and a picture is shown where the terminal can.
func (m *model) Came(p gateway.Piece) {
	switch p := p.(type) {
	case gateway.Block:
		if p.Held {
			m.notifier.held()
		}
	case gateway.Call:
		m.shots.came(session.ActionOf(p))
	}
}

// Linked implements [session.View].
func (m *model) Linked() {
	m.adding.listed()
	if p, ok := m.open.(*picker); ok && p.load != nil && m.chat.Link.State == session.Ready {
		p.setItems(p.load())
	}
}

// Printed implements [session.View]: the transcript shows it.
func (m *model) Printed(string) {}

// Ran implements [session.View]: the transcript shows it.
func (m *model) Ran(session.Output) {}

// Asking implements [session.View]: the welcome makes room for the question.
func (m *model) Asking(session.Outgoing) {
	for _, n := range m.welcome.leave() {
		m.chat.Note(n, false)
	}
}

// Recalled implements [session.View]: the transcript shows it.
func (m *model) Recalled() {
	for _, n := range m.welcome.leave() {
		m.chat.Note(n, false)
	}
}

// Ended implements [session.View].
func (m *model) Ended(e session.End) {
	m.notifier.ended(e)
	if waits := m.chat.Pending; waits != nil && (len(waits) > 3 || m.width < 60 || m.height < 20) {
		// The card may show a part of it.
		m.chat.Note("It waits for your confirmation of:\n- "+strings.Join(waits, "\n- "), false)
	}
}

// GiveBack implements [session.View]: the questions stand in the input again.
func (m *model) GiveBack(waiting []session.Outgoing) {
	texts := make([]string, len(waiting))
	for i, o := range waiting {
		texts[i] = escaped(o.Text)
	}
	m.input.giveBack(texts)
}

// Offer implements [session.View]: the text stands in the input, if that is empty.
func (m *model) Offer(text string) {
	if m.input.Empty() && !m.input.holds() && !m.input.recalls() {
		m.input.Set(text)
	}
}

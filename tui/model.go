package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// model is the chat. It is changed by Update alone, on one goroutine.
type model struct {
	ctx     context.Context // of everything the chat asks for
	cfg     Config
	streams *tracker

	width, height  int
	dark, coloured bool
	rich           bool // 256 colours or more
	looks          looks

	log     *transcript.List
	notices []string // of the start: in the welcome, later in the transcript
	input   editor.Editor
	images  []Image
	dialog  *picker
	find    *finder
	help    *helper

	link    link
	models  []gateway.Model
	chosen  string // model that is asked
	convo   Conversation
	system  string
	ignored string // what the gateway last said it left out

	turn    *turn // the one that goes on, or nil
	turns   int   // how many there were
	last    *gateway.Question
	lastErr *gateway.Error // of the last question, or nil
	card    []string       // what waits for a yes, or nil
	queue   []outgoing     // questions written while the agent works
	tokens  [2]int64       // in and out, of the conversation

	history []string
	recall  int          // index into history; len(history) is the draft
	kept    editor.Draft // the draft, while history is shown
	arrow   arrow

	flash   string
	flashes int
	letter  letter
	leaving bool // Ctrl+C once more leaves
	ticking bool
	ticks   int
	mouse   bool
}

// outgoing is a question that is written and not yet asked.
type outgoing struct {
	text, shown string
	images      []Image
	decision    gateway.Decision
}

// letter is a key that may be an action or the beginning of a word.
type letter struct {
	text string
	do   action
	n    int
}

// link is what is known of the gateway.
type link struct {
	state    linkState
	err      error
	since    time.Time // of the state
	attempts int       // in vain
	asking   bool      // the list of models is on its way
	planned  bool      // it will be asked for again by itself
}

type linkState int

const (
	connecting linkState = iota
	ready
	unreachable
	locked
	noModels
	broken // it answers, but not like a gateway
)

func newModel(ctx context.Context, cfg Config, streams *tracker) *model {
	m := &model{ctx: ctx, cfg: cfg, streams: streams, width: 80, height: 24, dark: true, coloured: true}
	m.chosen, m.system = cfg.Start.Model, cfg.Start.System
	m.images = cfg.Start.Images
	m.convo = Conversation{ID: cfg.Start.Conversation, Place: cfg.Place.Title}
	if m.convo.ID == "" {
		m.convo.ID = cfg.NewID()
	}
	m.link.since = cfg.Now()
	m.restyle()
	m.log = transcript.New(m.looks.theme)
	if cfg.Place.Notice != "" {
		m.notices = append(m.notices, safe.Text(cfg.Place.Notice))
	}
	if cfg.Start.Conversation != "" {
		m.notices = append(m.notices, "Going on with conversation "+safe.Line(m.convo.ID)+". The agent remembers it; what was said is not shown here.")
	}
	return m
}

// Init starts what the chat needs to know: the models and the background.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{tea.RequestBackgroundColor, m.connect(), m.startTicking()}
	if m.cfg.Start.Text != "" {
		first := outgoing{text: m.cfg.Start.Text, shown: safe.Text(m.cfg.Start.Text), images: m.images}
		m.images = nil
		m.queue = append(m.queue, first)
		if m.chosen != "" {
			cmds = append(cmds, m.next())
		}
	}
	return tea.Batch(cmds...)
}

// connect asks for the models, unless they are on their way.
func (m *model) connect() tea.Cmd {
	if m.link.asking {
		return nil
	}
	m.link.asking = true
	return listModels(m.ctx, m.cfg.Endpoint)
}

func (m *model) restyle() {
	m.looks = newLooks(m.dark, m.coloured, m.rich)
	if m.log != nil {
		m.log.SetTheme(m.looks.theme)
	}
}

// note adds a line of the chat itself to the transcript.
func (m *model) note(text string) { m.log.Add(transcript.NewNote(safe.Text(text), false)) }

func (m *model) complain(text string) { m.log.Add(transcript.NewNote(safe.Text(text), true)) }

// say shows a short message in the status line for a while.
func (m *model) say(text string) tea.Cmd {
	m.flash = safe.Line(text)
	m.flashes++
	return after(flashTime, flashMsg{m.flashes})
}

// busy reports whether there is something that moves by itself.
func (m *model) busy() bool { return m.turn != nil || m.link.asking }

func (m *model) startTicking() tea.Cmd {
	if m.ticking || !m.busy() {
		return nil
	}
	m.ticking = true
	return after(tick, tickMsg{})
}

// modelName is the chosen model for people.
func (m *model) modelName() string {
	if m.chosen == "" {
		return "no model"
	}
	return safe.Line(m.chosen)
}

func (m *model) place() string { return place(m.cfg) }

// shortID is the beginning of an id, enough to tell a few apart.
func shortID(id string) string {
	id = safe.Line(id)
	if head, _, ok := strings.Cut(id, "-"); ok && len(head) >= 6 {
		return head
	}
	return id
}

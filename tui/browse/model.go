package browse

import (
	"context"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/safe"
)

// mode is what the keys mean.
type mode int

const (
	listing    mode = iota
	filtering       // the filter is typed
	writing         // a message is typed
	confirming      // y removes
)

// model is changed by Update alone, on one goroutine.
type model struct {
	ctx  context.Context
	cfg  Config
	wait *sync.WaitGroup // for commands

	width, height int
	items         []Item
	next          string // page; "" if all are there
	loading       bool
	busy          int // commands that run
	filter        string
	typed         string
	mode          mode
	at, first     int // of shown: the cursor, and the first line in view
	note          string
	confirm       Item // that y removes, or that gets the message
}

func newModel(ctx context.Context, cfg Config) *model {
	return &model{ctx: ctx, cfg: cfg, wait: &sync.WaitGroup{}, width: 80, height: 24}
}

// pageMsg is a page that came.
type pageMsg struct {
	page  Page
	first bool // it begins the list
	err   error
}

// doneMsg is the end of a command about a conversation.
type doneMsg struct {
	it      Item
	text    string
	err     error
	removed bool
	woken   bool
}

// Init loads the first page.
func (m *model) Init() tea.Cmd { return m.load(true) }

// run returns a command that the browser waits for at its end.
func (m *model) run(do func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		m.wait.Add(1)
		defer m.wait.Done()
		return do(m.ctx)
	}
}

func (m *model) load(first bool) tea.Cmd {
	if m.loading || !first && m.next == "" {
		return nil
	}
	m.loading = true
	token := m.next
	if first {
		token = ""
	}
	return m.run(func(ctx context.Context) tea.Msg {
		page, err := m.cfg.Source.List(ctx, token)
		return pageMsg{page, first, err}
	})
}

// Update takes a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case pageMsg:
		cmd = m.came(msg)
	case doneMsg:
		m.ended(msg)
	case tea.PasteMsg:
		if m.mode == filtering || m.mode == writing {
			m.write(safe.Line(msg.Content))
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	m.settle()
	return m, cmd
}

// came adds a page. A filter may need more than one.
func (m *model) came(msg pageMsg) tea.Cmd {
	m.loading = false
	if msg.err != nil {
		m.note = m.cfg.Explain(msg.err)
		return nil
	}
	if msg.first {
		m.items = nil
	}
	m.items = append(m.items, msg.page.Items...)
	m.next = msg.page.Next
	if m.next != "" && len(m.shown()) <= m.rows() {
		return m.load(false)
	}
	return nil
}

func (m *model) ended(msg doneMsg) {
	m.busy--
	if m.note = msg.text; msg.err != nil {
		m.note = m.cfg.Explain(msg.err)
		return
	}
	for i := range m.items {
		switch {
		case m.items[i].ID != msg.it.ID:
		case msg.removed:
			m.items = append(m.items[:i:i], m.items[i+1:]...)
			return
		case msg.woken:
			m.items[i].State = "running"
		}
	}
}

// shown are the items that the filter lets through.
func (m *model) shown() []Item {
	if m.filter == "" {
		return m.items
	}
	var list []Item
	for _, it := range m.items {
		if strings.Contains(strings.ToLower(safe.Line(it.Title+" "+it.Repo+" "+it.State+" "+it.ID)), strings.ToLower(m.filter)) {
			list = append(list, it)
		}
	}
	return list
}

// settle keeps the cursor in the list, and in view.
func (m *model) settle() {
	m.at = max(0, min(m.at, len(m.shown())-1))
	m.first = max(min(m.first, m.at), m.at-m.rows()+1, 0)
}

// write adds to what is typed.
func (m *model) write(text string) {
	if m.mode == filtering {
		m.filter += text
		m.at = 0
		return
	}
	m.typed += text
}

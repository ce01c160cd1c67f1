package tui

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// status tells how it stands: the last line of the screen, and the line about
// what goes on.
type status struct {
	chat  *session.Session
	place session.Place
	now   func() time.Time

	flash   string // a message that is shown for a while
	flashes int    // how many there were
	ticking bool
	ticks   int
}

// say shows a message, and takes it away after a while.
func (s *status) say(text string) tea.Cmd {
	s.flash = safe.Line(text)
	s.flashes++
	return after(flashTime, flashMsg{s.flashes})
}

// over takes a message away, unless there is a later one.
func (s *status) over(msg flashMsg) bool {
	if msg.n != s.flashes {
		return false
	}
	s.flash = ""
	return true
}

// move keeps the spinner moving while the gateway is asked for something.
func (s *status) move() tea.Cmd {
	if s.ticking || !s.chat.Busy() {
		return nil
	}
	s.ticking = true
	return after(tick, tickMsg{})
}

// tick moves the spinner to its next picture.
func (s *status) tick() {
	s.ticking = false
	s.ticks++
}

// line draws the last line: what is asked, where, and how that is.
func (s *status) line(l looks, width int) string {
	if s.flash != "" {
		return paint(l.accent, wrap.Cut(" "+s.flash, width))
	}
	right, used := s.right(l, width)
	room := width - used - 4
	if room < minLeft {
		return " " + right
	}
	left := wrap.Cut(s.chat.ModelName(), room)
	for _, variants := range [][]string{s.directory(), {shortID(s.chat.Convo.ID)}, {where(s.place), shortPlace(s.place)}} {
		for _, p := range variants {
			if p != "" && wrap.Width(left)+3+wrap.Width(p) <= room {
				left += " · " + p
				break
			}
		}
	}
	gap := strings.Repeat(" ", width-2-wrap.Width(left)-used)
	return " " + paint(l.faint, left) + gap + right
}

// minLeft is how many cells the left side of the last line has at least.
const minLeft = 8

// right draws the right side of the last line, and returns its width: what was spent,
// a sandbox that is less than it could be, and the connection. What has no room is
// left out, the first of them first.
func (s *status) right(l looks, width int) (text string, used int) {
	state, look := s.link(l)
	state = wrap.Cut(state, max(width-1, 1))
	text, used = paint(look, state), wrap.Width(state)
	if box := s.sandbox(); box != "" && wrap.Width(box)+used+3 <= width {
		text, used = paint(l.warn, box)+"  "+text, used+2+wrap.Width(box)
	}
	if spent := s.spent(width); spent != "" && wrap.Width(spent)+used+6+minLeft <= width {
		look := l.faint
		if c := s.chat.Context; c.Window > 0 && float64(c.Tokens) >= fullContext*float64(c.Window) {
			look = l.warn
		}
		text, used = paint(look, spent)+"  "+text, used+2+wrap.Width(spent)
	}
	return text, used
}

// sandbox is the level of the agent's sandbox, if that is one of ohgw's and not the
// full one.
func (s *status) sandbox() string {
	switch level := s.chat.Sandbox.Known.Level; level {
	case "", "full", "external", "backend":
		return ""
	default:
		return "sandbox " + wrap.Cut(level, 12)
	}
}

// fullContext is how full a context is when that is worth a colour.
const fullContext = 0.8

// spent writes what the conversation took: how full the model's context is, else the
// tokens in and out; and what it cost. A narrow screen has less of it.
func (s *status) spent(width int) string {
	var parts []string
	in, out := s.chat.Tokens[0], s.chat.Tokens[1]
	switch c := s.chat.Context; {
	case width < 38:
		return ""
	case c.Tokens > 0 && c.Window > 0:
		text := "context " + strconv.FormatInt(min(100, (100*c.Tokens+c.Window/2)/c.Window), 10) + "%"
		if width >= 100 {
			text += " of " + human.Short(c.Window)
		}
		parts = append(parts, text)
	case width < 50:
		return ""
	case c.Tokens > 0:
		parts = append(parts, "context "+human.Short(c.Tokens))
	case in+out > 0:
		parts = append(parts, human.Short(in)+" → "+human.Short(out))
	}
	if s.chat.Cost > 0 && width >= 50 {
		parts = append(parts, human.Money(s.chat.Cost))
	}
	return strings.Join(parts, " · ")
}

// directory is where the conversation works, the whole path first; or that this is not
// where the chat was opened.
func (s *status) directory() []string {
	w := s.chat.Where
	if w.Dir == "" {
		var away []string
		for _, text := range w.Away {
			away = append(away, safe.Line(text))
		}
		return away
	}
	short := w
	short.Dir = path.Base(filepath.ToSlash(w.Dir))
	return []string{w.String(), short.String(), safe.Line(short.Dir)}
}

// link returns the connection in a word, with a mark that needs no colour.
func (s *status) link(l looks) (word, look string) {
	state := s.chat.Link.State
	switch t := s.chat.Turn; {
	case t != nil && t.Lost > 0:
		return "◌ reconnecting", l.warn
	case s.chat.Sandbox.Asked != nil:
		return "◆ allow?", l.warn
	case t != nil:
		return "● at work", l.accent
	case s.chat.Pending != nil && state == session.Ready:
		return "◆ confirm?", l.warn
	}
	switch state {
	case session.Connecting:
		return "◌ connecting", l.faint
	case session.Ready:
		return "● ready", l.good
	case session.Unreachable:
		return "○ unreachable", l.bad
	case session.Locked:
		return "○ key rejected", l.bad
	case session.NoModels:
		return "○ no models", l.warn
	case session.Broken:
	}
	return "○ trouble", l.bad
}

// activity is the line about what goes on: a spinner, what is done and since
// when; "" if nothing does. Silence says what it waits for.
func (s *status) activity(l looks, width int) string {
	now := s.now()
	if t := s.chat.Turn; t != nil {
		return s.moving(l, width, s.doing(t, now.Sub(t.Heard)), human.Duration(now.Sub(t.Begun))+" · Esc stops")
	}
	if r := s.chat.Commands.Running; r != nil {
		return s.moving(l, width, "$ "+safe.Line(r.Line), human.Duration(now.Sub(r.Begun))+" · Ctrl+C ends it")
	}
	link := s.chat.Link
	if since := now.Sub(link.Since); link.State == session.Connecting && since >= hungAfter {
		return s.moving(l, width, "waiting for "+s.place.Name()+" to list its models", human.Duration(since))
	}
	return ""
}

// doing returns what a turn does after a silence.
func (s *status) doing(t *session.Turn, silent time.Duration) string {
	switch {
	case s.chat.Sandbox.Asked != nil && s.chat.Sandbox.Asked.Held:
		return "a program waits for your answer"
	case t.Lost > 0:
		return "connection lost, reconnecting (attempt " + strconv.Itoa(t.Lost) + ")"
	case !t.Taken && silent >= hungAfter:
		return "waiting for " + s.place.Name() + " to accept the question"
	case !t.Taken:
		return "asking"
	case t.Queued == 1:
		return "waiting in the queue, 1 question before this one"
	case t.Queued > 1:
		return "waiting in the queue, " + strconv.Itoa(t.Queued) + " questions before this one"
	case t.Retry != nil:
		return retrying(*t.Retry, silent)
	case t.Waits != "":
		return t.Waits
	case silent >= hungAfter:
		return "no data for " + human.Duration(silent) + ", waiting for " + s.place.Name()
	case t.Answer.Current() != "" && t.Answer.Working():
		return t.Answer.Current()
	case t.Answer.Blank(), t.Answer.Working():
		return "thinking"
	}
	return "writing"
}

// retrying is a request to the provider that is about to be repeated.
func retrying(r gateway.Retry, silent time.Duration) string {
	left := max(0, time.Duration(r.Seconds*float64(time.Second))-silent)
	return r.Cause + "; attempt " + strconv.Itoa(r.Attempt) + " of " + strconv.Itoa(r.Of) + " in " + human.Duration(left.Round(time.Second))
}

// spinner is drawn one after the other.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (s *status) moving(l looks, width int, what, since string) string {
	room := width - 4 - wrap.Width(since)
	if room < 6 {
		room, since = width-3, ""
	}
	return paint(l.accent, spinner[s.ticks%len(spinner)]) + " " + wrap.Cut(what, room) + "  " + paint(l.faint, since)
}

// where is a place with what is behind it.
func where(p session.Place) string {
	s := safe.Line(p.Title)
	if p.Backend != "" {
		s += " (" + safe.Line(p.Backend) + ")"
	}
	if p.Demo {
		s += " · demo"
	}
	return s
}

// shortPlace is what is behind a place, or the place.
func shortPlace(p session.Place) string {
	if p.Backend != "" {
		return safe.Line(p.Backend)
	}
	return safe.Line(p.Title)
}

// shortID is the beginning of an id, enough to tell a few apart.
func shortID(id string) string {
	id = safe.Line(id)
	if head, _, ok := strings.Cut(id, "-"); ok && len(head) >= 6 {
		return head
	}
	return id
}

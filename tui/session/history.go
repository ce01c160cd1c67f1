package session

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// maxEarlier is how many items of a conversation are shown when it goes on.
const maxEarlier = 300

// EarlierMsg is what was said in a conversation, or why that is unknown.
type EarlierMsg struct {
	Convo Conversation
	Start bool // the chat begins with it
	Items []gateway.Item
	More  bool
	Err   error
}

// readEarlier asks what was said in c. Where the gateway cannot be asked, the
// conversation continues at once.
func (s *Session) readEarlier(c Conversation, start bool) tea.Cmd {
	if s.cfg.History == nil {
		return s.resumed(EarlierMsg{Convo: c, Start: start, Err: errNoHistory})
	}
	s.recalling = c.ID
	history, ctx := s.cfg.History, s.ctx
	return s.Work(func() tea.Msg {
		items, more, err := history.Earlier(ctx, c.ID, maxEarlier)
		return EarlierMsg{Convo: c, Start: start, Items: items, More: more, Err: err}
	})
}

var errNoHistory = &gateway.Error{Kind: gateway.Refused, Code: "unknown_url", Message: "This gateway does not list earlier messages."}

// earlier takes in what was said, unless another conversation was chosen
// meanwhile.
func (s *Session) earlier(msg EarlierMsg) tea.Cmd {
	if s.recalling != msg.Convo.ID {
		return nil
	}
	s.recalling = ""
	return s.resumed(msg)
}

// resumed continues the conversation, or says that there is none.
func (s *Session) resumed(msg EarlierMsg) tea.Cmd {
	c := msg.Convo
	switch {
	case !gateway.IsUnknown(msg.Err):
	case msg.Start:
		s.Note("There is no conversation "+safe.Line(c.ID)+" "+s.cfg.Place.At()+". The first message starts a new one with this ID.", true)
		return s.Next()
	default:
		return s.view.Say("there is no conversation " + safe.Line(cmp.Or(c.Title, c.ID)) + " " + s.cfg.Place.At() + "; /sessions lists yours")
	}
	if c.Model != "" && !msg.Start {
		s.Model = c.Model
	}
	if c.Title == "" && !msg.More {
		c.Title = firstTitle(msg.Items)
	}
	named := s.named
	s.begin(c)
	if msg.Start {
		s.named = named
	}
	s.note(resumeNote(msg, c))
	s.Convo.Turns += fill(s.Log, msg.Items)
	s.stillWaits(msg.Items)
	s.view.Recalled()
	return tea.Batch(s.Look(), s.Next())
}

// resumeNote is the line above the earlier messages.
func resumeNote(msg EarlierMsg, c Conversation) string {
	what := "Resumed “" + Title(c.Title) + "” (" + safe.Line(c.ID) + ")."
	if c.Title == "" {
		what = "Resumed conversation " + safe.Line(c.ID) + "."
	}
	switch {
	case msg.Err != nil:
		return what + " Its earlier messages cannot be shown, but the agent knows them: " + human.Sentence(safe.Text(asGateway(msg.Err).Message))
	case msg.More:
		return what + " The " + strconv.Itoa(len(msg.Items)) + " latest messages and actions are shown; the agent knows all of them."
	}
	return what
}

func firstTitle(items []gateway.Item) string {
	for _, item := range items {
		if item.Kind == gateway.Asked {
			return Title(safe.Text(item.Text))
		}
	}
	return ""
}

// fill shows what was said, as if it had been said here. It returns the number of
// questions.
func fill(log *transcript.List, items []gateway.Item) (questions int) {
	var a *answering
	for _, item := range items {
		if item.Kind == gateway.Asked {
			a.end()
			a = nil
			log.Add(transcript.NewQuestion(safe.Text(item.Text), pictures(item.Images)))
			questions++
			continue
		}
		if a == nil {
			a = &answering{answer: &transcript.Answer{}}
			log.Add(a.answer)
		}
		a.take(item)
	}
	a.end()
	log.Bottom()
	return questions
}

// stillWaits takes in the actions that wait for a confirmation since an earlier
// chat.
func (s *Session) stillWaits(items []gateway.Item) {
	for _, item := range items {
		if item.Kind == gateway.Did && item.Call.State == "waiting" {
			act := ActionOf(*item.Call)
			s.Pending = append(s.Pending, act.Line)
			s.consent.waiting = append(s.consent.waiting, compared(act))
		}
	}
}

// pictures are lines for n pictures of which only the number is known.
func pictures(n int) []string {
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"a picture"}
	}
	return []string{strconv.Itoa(n) + " pictures"}
}

// answering is an answer of an earlier time that is put together again.
type answering struct {
	answer   *transcript.Answer
	before   bool // something was said on the way
	text     bool // the last part is a text
	refusals int
	failure  *transcript.Failure
}

func (a *answering) take(item gateway.Item) {
	switch item.Kind {
	case gateway.Did:
		a.answer.Act(ActionOf(*item.Call))
		for _, g := range item.Call.Refused {
			a.refusals++ // their IDs are less than those of the chat's own
			b := Block{Block: harmlessBlock(g)}
			a.answer.Refuse(transcript.Refusal{ID: -a.refusals, What: b.What(), State: b.Why})
		}
		a.text = false
		return
	case gateway.Broke:
		a.failure = &transcript.Failure{Cause: human.Sentence(safe.Text(item.Text))}
		return
	case gateway.Said:
		a.before = true
	case gateway.Asked, gateway.Answered:
	}
	text := safe.Text(strings.Trim(item.Text, "\n"))
	if a.text {
		text = "\n\n" + text
	}
	a.answer.Text(text)
	a.text = true
	a.failure = nil // it went on
}

func (a *answering) end() {
	if a == nil {
		return
	}
	a.answer.Final(a.before)
	a.answer.End("", false, a.failure)
}

// Open starts the session: it looks for the gateway, and reads what was said in
// the conversation that it begins with.
func (s *Session) Open() tea.Cmd {
	s.unread = s.cfg.Start.Conversation != ""
	return tea.Batch(s.Connect(), s.Next())
}

// recall reads the conversation that the chat begins with, once there is a
// gateway. It reports whether the first question has to wait for that.
func (s *Session) recall() tea.Cmd {
	s.unread = false
	return s.readEarlier(s.Convo, true)
}

// removed takes in that a conversation was deleted, or why it was not.
func (s *Session) removed(msg removedMsg) tea.Cmd {
	if msg.err != nil {
		s.Note("The conversation was not deleted: "+human.Sentence(safe.Text(asGateway(msg.err).Message)), true)
		return nil
	}
	said := s.view.Say("deleted " + Title(cmp.Or(msg.convo.Title, msg.convo.ID)))
	if msg.convo.ID == s.Convo.ID {
		return tea.Batch(said, s.New())
	}
	return said
}

// Rename gives a conversation another title, on this machine.
func (s *Session) Rename(c Conversation, title string) tea.Cmd {
	title = Title(title)
	if s.cfg.Recent == nil {
		return s.view.Say("conversations are not stored on this machine")
	}
	if title == "" {
		return s.view.Say("not renamed: the title is empty")
	}
	if c.ID == s.Convo.ID {
		s.Convo.Title = title
		if s.Convo.Turns == 0 { // it is kept with its first question
			return s.view.Say("renamed to " + title)
		}
	}
	recent, ctx := s.cfg.Recent, context.WithoutCancel(s.ctx)
	return s.Work(func() tea.Msg { return DoneMsg{"renamed to " + title, recent.Rename(ctx, c.ID, title)} })
}

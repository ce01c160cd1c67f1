package session

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

// Submit asks what is written, with the images that are attached, or puts it in
// the queue while the agent works. shown is text as it is on the screen.
func (s *Session) Submit(text, shown string) tea.Cmd {
	return submit(s, Outgoing{Text: text, Shown: shown})
}

// Pursue submits a goal to a session: the agent works until a judge says that it is reached.
func Pursue(s *Session, goal string) tea.Cmd {
	return submit(s, Outgoing{Text: goal, Shown: "/goal " + goal, Goal: goal})
}

func submit(s *Session, o Outgoing) tea.Cmd {
	s.asked++
	o.Shown, o.Images, o.Outputs = safe.Text(o.Shown), s.Images, s.Commands.Outputs
	o.id, o.unread = s.asked, s.Files.mentioned(s.Dir(), o.Text)
	s.Queue = append(s.Queue, o)
	s.Images, s.Commands.Outputs = nil, nil
	return s.Next()
}

// Next asks the first question of the queue, if nothing is in its way.
func (s *Session) Next() tea.Cmd {
	if len(s.Queue) == 0 || s.Turn != nil || s.Model == "" || s.unread || s.recalling != "" || s.referring {
		return nil
	}
	o := s.Queue[0]
	if o.unread {
		s.referring = true
		return s.Work(s.Files.refer(s.Dir(), o))
	}
	s.Queue = s.Queue[1:]
	var files, data []string
	for _, img := range o.Images {
		files, data = append(files, img.Label()), append(data, img.DataURL)
	}
	for _, out := range o.Outputs {
		files = append(files, out.Label())
	}
	s.view.Asking(o)
	s.Log.Add(transcript.NewQuestion(o.Shown, files))
	if s.Convo.Title == "" {
		s.Convo.Title = Title(o.Shown)
	}
	return s.ask(gateway.Question{
		Model: s.Model, Conversation: s.Convo.ID, System: s.System, Text: offered(o.Outputs, cmp.Or(o.Sent, o.Text)), Goal: o.Goal, Images: data,
		Timeout: s.cfg.Start.Timeout, Key: s.cfg.NewID(), Decision: o.Decision, Details: true, Workspace: s.named, Confirmation: s.Confirmation,
	})
}

// mayRun reports whether the last question may still run at the gateway.
func (s *Session) mayRun() bool {
	return s.Failure != nil && (s.Failure.Kind == gateway.Unreachable || s.Failure.Kind == gateway.Stranger)
}

// Retry asks the last question again. One that may still run is joined by its
// key; after an answer, a failure or a stop it is a new run.
func (s *Session) Retry() tea.Cmd {
	if s.last == nil || s.Turn != nil {
		return s.view.Say("there is no question to send again")
	}
	q := *s.last
	if !s.mayRun() {
		q.Key = s.cfg.NewID()
	}
	if s.Model != "" {
		q.Model = s.Model
	}
	a := s.Log.LastAnswer()
	failed := a != nil && a.Failed()
	switch {
	case failed && a.Blank():
		s.Log.Drop(a)
	case failed && q.Key == s.last.Key && s.Log.EndsWith(a):
		a.Resume() // it is the same answer
		return s.turn(q, a)
	case s.Failure == nil:
		s.Log.Add(transcript.NewQuestion(safe.Text(q.Text), nil))
	}
	return s.ask(q)
}

// begin shows another conversation, of which nothing was shown yet.
func (s *Session) begin(c Conversation) {
	if s.Turn != nil {
		_ = s.Stop() // its answer is not shown any more
	}
	if s.Commands.Running != nil {
		s.Commands.End()
	}
	s.Commands.Running, s.Commands.Outputs, s.consent, s.Confirmation = nil, nil, consent{}, ""
	s.Context, s.Cost = gateway.Context{}, 0
	s.Convo, s.Tokens, s.Pending, s.last, s.Failure, s.ignored = c, [2]int64{}, nil, nil, nil, ""
	s.unread, s.recalling, s.named = false, "", ""
	s.Sandbox.clear()
	s.Log.Clear()
}

// New begins a conversation.
func (s *Session) New() tea.Cmd {
	s.begin(Conversation{ID: s.cfg.NewID(), Place: s.cfg.Place.Title, Workspace: s.cfg.Start.Workspace})
	s.named = s.Convo.Workspace
	s.note("New conversation.")
	return s.Look()
}

// Resume continues the conversation of an id, or the only one whose id begins with it. If
// there is none, the chat says so.
func (s *Session) Resume(id string) tea.Cmd {
	if s.cfg.Recent == nil {
		return s.Continue(Conversation{ID: id, Place: s.cfg.Place.Title})
	}
	return s.Work(listRecent(s.ctx, s.cfg.Recent, "", id))
}

// Continue continues a conversation that was kept, with its model.
func (s *Session) Continue(c Conversation) tea.Cmd { return s.readEarlier(c, false) }

func (s *Session) recalled(msg RecentMsg) tea.Cmd {
	if msg.ID != "" {
		return s.resumeListed(msg)
	}
	switch {
	case msg.Err != nil:
		s.Note("The list of conversations cannot be read: "+msg.Err.Error(), true)
		return nil
	case len(msg.List) == 0:
		return s.view.Say("there is no earlier conversation")
	}
	s.view.Resumable(msg.List, msg.Query)
	return nil
}

// resumeListed continues the conversation whose id begins as it was asked for, if the
// list has just one; else the one with that id.
func (s *Session) resumeListed(msg RecentMsg) tea.Cmd {
	var found []Conversation
	for _, c := range msg.List {
		if strings.HasPrefix(c.ID, strings.ToLower(msg.ID)) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return s.Continue(found[0])
	}
	return s.Continue(Conversation{ID: msg.ID, Place: s.cfg.Place.Title})
}

// SetModel makes id the model that is asked from now on.
func (s *Session) SetModel(id string) tea.Cmd {
	s.Model = id
	return s.Next()
}

// SetSystem sets the instructions that go with each question from now on.
func (s *Session) SetSystem(text string) tea.Cmd {
	s.System = text
	if text == "" {
		return s.view.Say("no instructions from the next question on")
	}
	s.note("Instructions from the next question on: " + text)
	return nil
}

// Attach reads the picture at path for the next question.
func (s *Session) Attach(path string) tea.Cmd {
	return s.Work(readImage(s.ctx, s.cfg.ReadImage, path))
}

// Detach takes the last picture away again, or the last output of a command. It
// reports whether there was one.
func (s *Session) Detach() bool {
	if n := len(s.Images); n > 0 {
		s.Images = s.Images[:n-1]
		return true
	}
	n := len(s.Commands.Outputs)
	if n > 0 {
		s.Commands.Outputs = s.Commands.Outputs[:n-1]
	}
	return n > 0
}

func (s *Session) attached(msg AttachedMsg) tea.Cmd {
	if msg.Err != nil {
		return s.view.Say("picture not attached: " + msg.Err.Error())
	}
	s.Images = append(s.Images, msg.Image)
	return s.view.Say("attached " + msg.Image.Label())
}

// Save writes the conversation to the file at path, as Markdown.
func (s *Session) Save(path string) tea.Cmd {
	return s.Work(saveText(s.ctx, s.cfg.Save, path, markdown(s.Log)))
}

func (s *Session) done(msg DoneMsg) tea.Cmd {
	if msg.Err != nil {
		s.Note(human.Sentence(msg.Err.Error()), true)
		return nil
	}
	return s.view.Say(msg.What)
}

// markdown is a conversation as a document.
func markdown(log *transcript.List) string {
	var b strings.Builder
	for _, msg := range log.Messages() {
		switch msg := msg.(type) {
		case *transcript.Question:
			b.WriteString("## You\n\n" + msg.Text() + "\n\n")
		case *transcript.Answer:
			b.WriteString("## " + cmp.Or(msg.By(), "Agent") + "\n\n" + msg.Source() + "\n\n")
		case *transcript.Shell:
			b.WriteString(msg.Source() + "\n\n")
		}
	}
	return b.String()
}

// ModelName is the chosen model for people.
func (s *Session) ModelName() string {
	if s.Model == "" {
		return "no model"
	}
	return safe.Line(s.Model)
}

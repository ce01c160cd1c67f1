package session

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
	"github.com/ohgw/ohgw/tui/wrap"
)

// What is kept of a line of progress and of an error's text, in cells. A proxy
// may send a page for an error.
const (
	maxProgress = 500
	// MaxCause is for views that show an error of their own.
	MaxCause = 1000
)

// Turn is a question on its way and the answer so far.
type Turn struct {
	Answer *transcript.Answer
	Begun  time.Time
	Heard  time.Time      // something came last
	Queued int            // questions before this one
	Lost   int            // attempts to find the connection again; 0 while it is there
	Taken  bool           // the gateway has the question
	Retry  *gateway.Retry // the request to the provider that is repeated, or nil
	Waits  string         // what the call of the model waits for, or ""

	stream *stream
	cancel context.CancelFunc
	clean  safe.Cleaner
	again  *again // the answer begins again; nil: it does not
}

// ask begins a turn.
func (s *Session) ask(q gateway.Question) tea.Cmd {
	if a := s.Log.LastAnswer(); a != nil && s.Pending != nil && q.Decision != gateway.Accept {
		a.Settle(transcript.Waiting, transcript.Rejected)
	}
	s.Sandbox.pass()
	a := &transcript.Answer{}
	a.SetBy(s.ModelName())
	s.Log.Add(a)
	return s.turn(q, a)
}

// turn begins a turn whose answer goes into a. What a has stays until there is
// as much of the new answer.
func (s *Session) turn(q gateway.Question, a *transcript.Answer) tea.Cmd {
	ctx, cancel := context.WithCancel(s.ctx)
	now := s.cfg.Now()
	t := &Turn{stream: newStream(), cancel: cancel, Answer: a, Begun: now, Heard: now}
	if !a.Blank() {
		t.restart()
	}
	s.Turn, s.last, s.Failure, s.Pending = t, &q, nil, nil
	s.Log.Bottom()
	endpoint := s.cfg.Endpoint
	run := func() tea.Msg {
		defer cancel()
		if !s.streams.begin() {
			t.stream.finish(context.Canceled)
			return nil
		}
		defer s.streams.done()
		t.stream.ask(ctx, endpoint, q)
		return nil
	}
	return tea.Batch(run, t.batch)
}

// batch waits for the next pieces. It is a command.
func (t *Turn) batch() tea.Msg {
	b := t.stream.batch()
	b.Turn = t
	return b
}

// batch takes in what came of an answer.
func (s *Session) batch(b BatchMsg) tea.Cmd {
	t := s.Turn
	if t == nil || t != b.Turn {
		return nil // Of a turn that was stopped.
	}
	var cmds []tea.Cmd
	for _, p := range b.Pieces {
		t.Heard = s.cfg.Now()
		cmds = append(cmds, s.piece(t, p))
		if s.Turn != t {
			return tea.Batch(cmds...)
		}
	}
	if b.Over {
		return tea.Batch(append(cmds, s.failed(t, b.Err))...)
	}
	return tea.Batch(append(cmds, t.batch)...)
}

func (s *Session) piece(t *Turn, piece gateway.Piece) tea.Cmd {
	switch p := piece.(type) {
	case gateway.Started:
		cmd := s.started(t, p)
		s.view.Came(piece)
		return cmd
	case gateway.Waiting:
		t.Queued = p.Queue
		s.view.Came(piece)
	case gateway.Lost:
		t.Lost = p.Attempt
		s.view.Came(piece)
	case gateway.Text:
		t.Queued, t.Retry, t.Waits = 0, nil, ""
		clean := t.clean.Clean(string(p))
		t.text(clean)
		if clean != string(p) {
			piece = gateway.Text(clean)
		}
		s.view.Came(piece)
	case gateway.Progress:
		t.Queued = 0
		t.progress(s.view, string(p))
	case gateway.Call:
		t.Queued, t.Retry, t.Waits = 0, nil, ""
		t.called(s.Log, s.Dir(), p)
		s.view.Came(piece)
	case gateway.Retry:
		p.Cause = name(p.Cause)
		t.Queued, t.Retry, t.Waits = 0, &p, ""
		s.view.Came(p)
	case gateway.Phase:
		t.Queued, t.Retry, t.Waits = 0, nil, p.Waits()
		s.view.Came(p)
	case gateway.Block:
		t.Queued, t.Retry, t.Waits = 0, nil, ""
		return s.Sandbox.refused(t, p)
	case gateway.Done:
		return s.answered(t, p)
	}
	return nil
}

// rest takes in what of a text was held back until the turn ended.
func (t *Turn) rest(view View) {
	if rest := t.clean.Rest(); rest != "" {
		t.text(rest)
		view.Came(gateway.Text(rest))
	}
}

func (t *Turn) progress(view View, lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		if line = safe.Line(line[:min(len(line), 8*maxProgress)]); line != "" {
			line = wrap.Cut(line, maxProgress)
			t.writing().Progress(line)
			t.caughtUp()
			view.Came(gateway.Progress(line))
		}
	}
}

func (s *Session) started(t *Turn, p gateway.Started) tea.Cmd {
	if t.Taken || t.Lost > 0 {
		t.restart()
	}
	again := t.Taken
	t.Taken, t.Lost = true, 0
	s.Link.set(s.cfg.Now(), Ready, nil)
	if p.Conversation != "" {
		s.Convo.ID = p.Conversation
	}
	if p.Workspace != "" {
		s.Convo.Workspace = p.Workspace
	}
	var said tea.Cmd
	if left := safe.Line(strings.Join(p.Ignored, ", ")); left != s.ignored {
		s.ignored = left
		if left != "" {
			said = s.view.Say("ignored here: " + left)
		}
	}
	if again {
		return said
	}
	return tea.Batch(said, s.remember(), s.Look())
}

// remember keeps the conversation for a later chat.
func (s *Session) remember() tea.Cmd {
	s.Convo.Model, s.Convo.Used = s.Model, s.cfg.Now()
	s.Convo.Turns++
	if s.cfg.Recent == nil {
		return nil
	}
	return s.Work(remember(s.ctx, s.cfg.Recent, s.Convo))
}

// answered ends a turn that has its answer.
func (s *Session) answered(t *Turn, d gateway.Done) tea.Cmd {
	t.rest(s.view)
	s.Sandbox.end(t, d.Blocked)
	t.replace()
	e := End{Turn: t, Took: s.cfg.Now().Sub(t.Begun), Done: d, Notice: safe.Text(d.Notice)}
	waits, agreed := d.RunStatus == "waiting_for_confirmation", false
	if e.Notice != "" {
		t.Answer.Cut(e.Notice)
	}
	s.Tokens[0] += d.Usage.Prompt
	s.Tokens[1] += d.Usage.Completion
	s.Context = d.Context
	if d.Usage.Cost != nil {
		s.Cost += *d.Usage.Cost
	}
	t.Answer.Final(d.TextBefore > 0)
	t.Answer.End(e.Summary(), false, nil)
	s.Turn, s.Failure = nil, nil
	if waits {
		agreed = s.waits(t, d, e.Notice)
	} else if e.Notice != "" {
		s.Log.Add(transcript.NewNote(e.Notice, false))
	}
	s.view.Ended(e)
	switch {
	case agreed:
		return s.Next()
	case waits:
		s.unqueue()
		return nil
	case e.Notice == "" && d.Finish == "length":
		s.note("The answer was cut off: the model reached its length limit. Send another message to continue.")
	}
	return tea.Batch(s.Look(), s.Next())
}

// failed ends a turn that has no answer, or only the beginning of one.
func (s *Session) failed(t *Turn, err error) tea.Cmd {
	t.rest(s.view)
	s.Sandbox.end(t, nil)
	f := asGateway(err)
	s.Failure, s.Turn = f, nil
	if f.Kind == gateway.Refused && s.last.Confirmation != "" {
		s.Confirmation, s.last.Confirmation = "", "" // It may be what was refused.
	}
	e := End{Turn: t, Took: s.cfg.Now().Sub(t.Begun), Failure: f, Next: nextStep(s.cfg, f)}
	took := ""
	if e.Took >= time.Second {
		took = "after " + human.Duration(e.Took)
	}
	t.Answer.End(took, false, &transcript.Failure{Cause: wrap.Cut(safe.Text(human.Sentence(f.Message)), MaxCause), Next: e.Next})
	s.view.Ended(e)
	s.unqueue()
	if f.Code == noSuchModel && s.typed.finder(s.Model) != nil {
		return s.Connect() // The list may be there by now.
	}
	switch f.Kind {
	case gateway.Unreachable:
		if s.cfg.Redials {
			return s.unreachable(f)
		}
	case gateway.Locked:
		s.Link.set(s.cfg.Now(), Locked, f)
	case gateway.Failed, gateway.Busy, gateway.Refused, gateway.Stranger:
	}
	return nil
}

// Stop ends the turn; what came of the answer stays. The command looks for what its
// actions have brought.
func (s *Session) Stop() tea.Cmd {
	t := s.Turn
	t.cancel()
	for _, p := range t.stream.take().Pieces {
		switch p := p.(type) {
		case gateway.Text, gateway.Progress, gateway.Call, gateway.Block:
			s.piece(t, p)
		}
	}
	t.rest(s.view)
	s.Sandbox.end(t, nil)
	e := End{Turn: t, Took: s.cfg.Now().Sub(t.Begun), Stopped: true}
	t.Answer.End("stopped after "+human.Duration(e.Took), true, nil)
	s.Turn = nil
	s.view.Ended(e)
	s.unqueue()
	return s.Kept.lookBack(s.Convo.ID, t.Answer, 0)
}

// unqueue gives the waiting questions back to the view; their pictures are
// attached again.
func (s *Session) unqueue() {
	waiting := s.Queue
	s.Queue = nil
	for _, o := range slices.Backward(waiting) {
		s.Images = append(slices.Clone(o.Images), s.Images...)
		s.Commands.Outputs = append(slices.Clone(o.Outputs), s.Commands.Outputs...)
	}
	if len(waiting) > 0 {
		s.view.GiveBack(waiting)
	}
}

package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
	"github.com/ohgw/ohgw/tui/wrap"
)

// What is kept of a line of progress and of an error's text, in cells. A proxy
// may send a page for an error.
const (
	maxProgress = 500
	maxCause    = 1000
)

// turn is a question on its way and the answer so far.
type turn struct {
	stream *stream
	cancel context.CancelFunc
	answer *transcript.Answer
	clean  safe.Cleaner
	begun  time.Time
	heard  time.Time // something came last
	queued int       // questions before this one
	lost   int       // attempts to find the connection again; 0 while it is there
	taken  bool      // the gateway has the question
}

// ask begins a turn.
func (m *model) ask(q gateway.Question) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	m.turns++
	now := m.cfg.Now()
	t := &turn{stream: newStream(m.turns), cancel: cancel, answer: &transcript.Answer{}, begun: now, heard: now}
	m.turn, m.last, m.lastErr, m.card = t, &q, nil, nil
	m.log.Add(t.answer)
	m.log.Bottom()
	endpoint, streams := m.cfg.Endpoint, m.streams
	run := func() tea.Msg {
		defer cancel()
		if !streams.begin() {
			t.stream.finish(context.Canceled)
			return nil
		}
		defer streams.done()
		t.stream.ask(ctx, endpoint, q)
		return nil
	}
	return tea.Batch(run, t.stream.batch, m.startTicking())
}

// submit asks what is written, or puts it in the queue while the agent works.
func (m *model) submit(o outgoing) tea.Cmd {
	m.queue = append(m.queue, o)
	return m.next()
}

// next asks the first question of the queue, if nothing is in its way.
func (m *model) next() tea.Cmd {
	if len(m.queue) == 0 || m.turn != nil || m.chosen == "" {
		return nil
	}
	o := m.queue[0]
	m.queue = m.queue[1:]
	files := make([]string, len(o.images))
	data := make([]string, len(o.images))
	for i, img := range o.images {
		files[i], data[i] = imageLabel(img), img.DataURL
	}
	for _, n := range m.notices {
		m.note(n)
	}
	m.notices = nil
	m.log.Add(transcript.NewQuestion(o.shown, files))
	if m.convo.Title == "" {
		m.convo.Title = title(o.shown)
	}
	return m.ask(gateway.Question{
		Model: m.chosen, Conversation: m.convo.ID, System: m.system, Text: o.text, Images: data,
		Timeout: m.cfg.Start.Timeout, Key: m.cfg.NewID(), Decision: o.decision,
	})
}

// unqueue gives the waiting questions back to the input.
func (m *model) unqueue() {
	for i := len(m.queue) - 1; i >= 0; i-- {
		o := m.queue[i]
		m.images = append(o.images, m.images...)
		rest := m.input.Draft()
		m.input.Clear()
		m.input.Paste(o.text)
		if !rest.Empty() {
			m.input.Type("\n")
			m.input.Append(rest)
		}
	}
	m.queue = nil
}

// batch takes in what came of an answer.
func (m *model) batch(b batchMsg) tea.Cmd {
	t := m.turn
	if t == nil || t.stream != b.stream {
		return nil // Of a turn that was stopped.
	}
	var cmds []tea.Cmd
	for _, p := range b.pieces {
		t.heard = m.cfg.Now()
		cmds = append(cmds, m.piece(t, p))
		if m.turn != t {
			return tea.Batch(cmds...)
		}
	}
	if b.over {
		return tea.Batch(append(cmds, m.failed(t, b.err))...)
	}
	return tea.Batch(append(cmds, t.stream.batch)...)
}

func (m *model) piece(t *turn, p gateway.Piece) tea.Cmd {
	switch p := p.(type) {
	case gateway.Started:
		return m.started(t, p)
	case gateway.Waiting:
		t.queued = p.Queue
	case gateway.Lost:
		t.lost = p.Attempt
	case gateway.Text:
		t.queued = 0
		t.answer.Text(t.clean.Clean(string(p)))
	case gateway.Progress:
		t.queued = 0
		for line := range strings.SplitSeq(string(p), "\n") {
			if line = safe.Line(line[:min(len(line), 8*maxProgress)]); line != "" {
				t.answer.Progress(wrap.Cut(line, maxProgress))
			}
		}
	case gateway.Done:
		return m.done(t, p)
	}
	return nil
}

func (m *model) started(t *turn, s gateway.Started) tea.Cmd {
	if t.taken || t.lost > 0 {
		t.answer.Restart()
		t.clean = safe.Cleaner{}
	}
	again := t.taken
	t.taken, t.lost = true, 0
	m.linked(ready, nil)
	if s.Conversation != "" {
		m.convo.ID = s.Conversation
	}
	if left := safe.Line(strings.Join(s.Ignored, ", ")); left != m.ignored {
		m.ignored = left
		if left != "" {
			m.flash = ""
			return tea.Batch(m.say("without effect here: "+left), m.remember(again))
		}
	}
	return m.remember(again)
}

// remember keeps the conversation for a later chat.
func (m *model) remember(again bool) tea.Cmd {
	if again {
		return nil
	}
	m.convo.Model, m.convo.Used = m.chosen, m.cfg.Now()
	m.convo.Turns++
	if m.cfg.Recent == nil {
		return nil
	}
	return remember(m.ctx, m.cfg.Recent, m.convo)
}

// done ends a turn that has its answer.
func (m *model) done(t *turn, d gateway.Done) tea.Cmd {
	t.answer.Text(t.clean.Rest())
	notice := safe.Text(d.Notice)
	waits := d.RunStatus == "waiting_for_confirmation"
	if notice != "" {
		t.answer.Cut(notice)
	}
	m.tokens[0] += d.Usage.Prompt
	m.tokens[1] += d.Usage.Completion
	t.answer.Final(d.TextBefore > 0)
	t.answer.End(summary(t.answer.Actions(), m.cfg.Now().Sub(t.begun), d), false, nil)
	m.turn, m.lastErr = nil, nil
	switch {
	case waits:
		m.card = cardLines(d.Waiting, notice)
		if len(m.card) > 3 || m.width < 60 || m.height < 20 {
			// The card may show a part of it.
			m.note("It waits for your yes to:\n- " + strings.Join(m.card, "\n- "))
		}
		m.unqueue()
		return nil
	case notice != "":
		m.note(notice)
	case d.Finish == "length":
		m.note("The answer was cut: the model reached its limit. Ask it to go on.")
	}
	return m.next()
}

// failed ends a turn that has no answer, or only the beginning of one.
func (m *model) failed(t *turn, err error) tea.Cmd {
	t.answer.Text(t.clean.Rest())
	e := asGateway(err)
	m.lastErr, m.turn = e, nil
	took := ""
	if m.cfg.Now().Sub(t.begun) >= time.Second {
		took = "after " + m.elapsed(t)
	}
	t.answer.End(took, false, &transcript.Failure{Cause: wrap.Cut(safe.Text(sentence(e.Message)), maxCause), Next: nextStep(m.cfg, e, "press r")})
	m.unqueue()
	switch e.Kind {
	case gateway.Unreachable:
		return m.unreachable(e)
	case gateway.Locked:
		m.linked(locked, e)
	case gateway.Failed, gateway.Busy, gateway.Refused, gateway.Stranger:
	}
	return nil
}

// stop ends the turn; what came of the answer stays.
func (m *model) stop() {
	t := m.turn
	t.cancel()
	t.answer.Text(t.clean.Rest())
	t.answer.End("stopped after "+m.elapsed(t), true, nil)
	m.turn = nil
	m.unqueue()
}

// retry asks the last question again. One that may still run is joined by its
// key; after an answer, a failure or a stop it is a new run.
func (m *model) retry() tea.Cmd {
	if m.last == nil || m.turn != nil {
		return m.say("there is nothing to ask again")
	}
	q := *m.last
	if m.lastErr == nil || m.lastErr.Kind != gateway.Unreachable && m.lastErr.Kind != gateway.Stranger {
		q.Key = m.cfg.NewID()
	}
	if m.chosen != "" {
		q.Model = m.chosen
	}
	if a := m.log.LastAnswer(); a != nil && a.Failed() && a.Blank() {
		m.log.Drop(a)
	} else if m.lastErr == nil {
		m.log.Add(transcript.NewQuestion(safe.Text(q.Text), nil))
	}
	return m.ask(q)
}

// answerCard says yes or no to what waits.
func (m *model) answerCard(yes bool) tea.Cmd {
	if m.card == nil {
		return nil
	}
	if yes {
		return m.submit(outgoing{text: "yes", shown: "yes", decision: gateway.Accept})
	}
	return m.submit(outgoing{text: "no", shown: "no", decision: gateway.Reject})
}

package tui

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/safe"
)

// plainTurn is an answer that is written line by line.
type plainTurn struct {
	*plain
	begun   time.Time
	clean   safe.Cleaner
	text    string // the answer so far
	written int    // bytes of text that are on the paper
	before  string // what is on the paper of an answer that begins again
	actions int
	queue   int
	taken   bool
	lost    bool
}

// question makes one of what was written.
func (p *plain) question(text string) gateway.Question {
	q := gateway.Question{
		Model: p.chosen, Conversation: p.convo.ID, System: p.system, Text: text, Timeout: p.cfg.Start.Timeout, Key: p.cfg.NewID(),
	}
	for _, img := range p.images {
		q.Images = append(q.Images, img.DataURL)
	}
	p.images = nil
	if p.convo.Title == "" {
		p.convo.Title = title(text)
	}
	return q
}

// ask asks and writes the answer. Only the end of the chat is an error.
func (p *plain) ask(ctx context.Context, q gateway.Question) error {
	p.last, p.joins = &q, false
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &plainTurn{plain: p, begun: p.cfg.Now()}
	s := newStream(0)
	p.group.Go(func() { s.ask(asking, p.cfg.Endpoint, q) })
	for wait := hungAfter; ; {
		silent := time.NewTimer(wait)
		got := false
		select {
		case <-s.wake:
			got = true
		case <-s.end:
			got = true
		case <-silent.C:
			p.print("Still waiting for " + place(p.cfg) + ", " + duration(p.cfg.Now().Sub(t.begun)) + ".")
			wait = 3 * hungAfter
		case <-p.cfg.Interrupt:
			cancel()
			t.flush(true)
			p.print("Stopped after " + duration(p.cfg.Now().Sub(t.begun)) + ".")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		silent.Stop()
		if !got {
			continue
		}
		wait = hungAfter
		if over := t.take(ctx, s); over {
			return nil
		}
	}
}

// take writes what came, and reports whether that was all.
func (t *plainTurn) take(ctx context.Context, s *stream) bool {
	s.mu.Lock()
	pieces, err, over := s.got, s.err, s.over
	s.got = nil
	s.mu.Unlock()
	for _, piece := range pieces {
		if d, ok := piece.(gateway.Done); ok {
			t.done(d)
			return true
		}
		t.piece(ctx, piece)
	}
	if over {
		t.flush(true)
		e := asGateway(err)
		t.joins = e.Kind == gateway.Unreachable || e.Kind == gateway.Stranger
		t.print("Error: " + sentence(e.Message))
		if e.Kind == gateway.Unreachable {
			t.print("Next: type /retry to ask again; it never runs twice.")
		} else {
			t.print("Next: " + nextStep(t.cfg, e, "type /retry"))
		}
	}
	return over
}

func (t *plainTurn) piece(ctx context.Context, piece gateway.Piece) {
	switch piece := piece.(type) {
	case gateway.Started:
		t.started(ctx, piece)
	case gateway.Waiting:
		if piece.Queue != t.queue && piece.Queue > 0 {
			t.print("Waiting in the queue: " + strconv.Itoa(piece.Queue) + " before this one.")
		}
		t.queue = piece.Queue
	case gateway.Lost:
		if !t.lost {
			t.print("Connection lost, finding it again.")
		}
		t.lost = true
	case gateway.Text:
		t.text += t.clean.Clean(string(piece))
		t.flush(false)
	case gateway.Progress:
		t.flush(true)
		for line := range strings.SplitSeq(string(piece), "\n") {
			if line = safe.Line(line); line != "" {
				t.actions++
				t.print("Working: " + line)
			}
		}
	case gateway.Done:
	}
}

func (t *plainTurn) started(ctx context.Context, s gateway.Started) {
	if t.taken {
		// The answer comes from its beginning; what is written is not written
		// again.
		t.before = t.text[:t.written]
		t.text, t.written, t.actions, t.clean = "", 0, 0, safe.Cleaner{}
	}
	first := !t.taken
	t.taken, t.lost = true, false
	if s.Conversation != "" {
		t.convo.ID = s.Conversation
	}
	if len(s.Ignored) > 0 && first {
		t.print("Without effect here: " + strings.Join(s.Ignored, ", "))
	}
	if !first {
		return
	}
	t.convo.Model, t.convo.Used = t.chosen, t.cfg.Now()
	t.convo.Turns++
	if t.cfg.Recent != nil {
		if err := t.cfg.Recent.Remember(ctx, t.convo); err != nil {
			t.print("Error: the conversation is not kept: " + err.Error())
		}
	}
}

// flush writes the lines that are complete, or all there is.
func (t *plainTurn) flush(all bool) {
	if t.before != "" {
		switch {
		case strings.HasPrefix(t.text, t.before):
			t.written, t.before = len(t.before), ""
		case strings.HasPrefix(t.before, t.text) && !all:
			return // Not yet further than what is written.
		case !all || t.text != "":
			t.before = ""
			t.print("The answer begins again.")
		}
	}
	end := strings.LastIndexByte(t.text, '\n') + 1
	if all {
		end = len(t.text)
	}
	if end > t.written {
		s := strings.TrimSuffix(t.text[t.written:end], "\n")
		if t.written == 0 {
			s = strings.TrimLeft(s, "\n")
		}
		if s != "" || t.written > 0 {
			t.print(s)
		}
		t.written = end
	}
}

func (t *plainTurn) done(d gateway.Done) {
	t.text = strings.TrimRight(t.text+t.clean.Rest(), "\n")
	t.written = min(t.written, len(t.text))
	t.flush(true)
	t.answer = t.text
	t.said = append(t.said, "## You\n\n"+t.last.Text+"\n\n## "+t.chosen+"\n\n"+t.text+"\n\n")
	if notice := strings.TrimSpace(safe.Text(d.Notice)); notice != "" && !strings.HasSuffix(t.text, notice) {
		t.print(notice)
	}
	how := strings.NewReplacer(" · ", ", ", " → ", " tokens in, ", " tokens", " out").Replace(summary(t.actions, t.cfg.Now().Sub(t.begun), d))
	t.print("Done: " + how + ".")
	if d.RunStatus == "waiting_for_confirmation" {
		t.print("Type yes or no, or what to do instead.")
	}
}

package daemon

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/sse"
)

// streamer writes an answer as a stream of chunks.
type streamer struct {
	*answer
	chunks *openai.Chunks
	events *sse.Writer
	buf    []byte
	sent   int // bytes of text
}

// stream begins at once, whatever the agent does: clients give up on silence
// and send their request again.
func (a *answer) stream(ctx context.Context) error {
	a.x.seen.answer = answerStream
	s := &streamer{
		answer: a,
		chunks: openai.NewChunks(a.id, a.call.Model, a.created, a.call.IncludeUsage),
		events: sse.NewWriter(a.x, a.x.flush),
	}
	a.x.streamHeaders()
	defer a.x.d.metrics.StreamOpens()()
	if err := s.send(s.chunks.Role(s.buf[:0])); err != nil {
		return err
	}
	if a.att.Queue() > 0 { // the place is worth a frame of its own
		if err := s.beat(); err != nil {
			return err
		}
	}
	if err := a.updates(ctx, a.x.d.cfg.Heartbeat, s.show, s.beat); err != nil {
		return s.stopped(err)
	}
	return s.finish(ctx)
}

// stopped ends a stream before its answer has ended.
func (s *streamer) stopped(err error) error {
	if !isGap(err) {
		return err
	}
	s.x.seen.code = codeReaderTooSlow
	return errors.Join(err, s.events.Data(explain(err).wire.AppendEnvelope(s.buf[:0])))
}

// streamHeaders are those of every stream.
func (x *exchange) streamHeaders() {
	h := x.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

func (s *streamer) send(chunk []byte) error {
	s.buf = chunk
	return s.events.Data(chunk)
}

func (s *streamer) beat() error { return s.send(s.chunks.Heartbeat(s.buf[:0], s.att.Queue())) }

func (s *streamer) show(u turn.Update) error {
	switch u.Kind {
	case turn.Progress:
		line := s.reasoning(u)
		if ext := s.detail(u); ext != nil {
			return s.send(s.chunks.Detail(s.buf[:0], line, ext))
		}
		if line != "" {
			return s.send(s.chunks.Reasoning(s.buf[:0], line))
		}
	case turn.Queue:
		if s.call.options.details { // the frame has the place in the queue
			return s.beat()
		}
		if line := s.reasoning(u); line != "" {
			return s.send(s.chunks.Reasoning(s.buf[:0], line))
		}
	case turn.Phase:
		return s.phase(u.Phase)
	case turn.Text:
		switch {
		case s.x.d.cfg.AnswerOnly:
		case s.call.schema == nil:
			return s.content(u.Text)
		default:
			if text := s.thoughts(u); text != "" {
				return s.send(s.chunks.Reasoning(s.buf[:0], text))
			}
		}
	}
	return nil
}

// phase tells what the call of the model waits for. A client that does not know phases is
// told in words that the model is loaded, which takes longest.
func (s *streamer) phase(p *event.Phase) error {
	switch {
	case p == nil:
	case s.call.options.phases:
		return s.send(s.chunks.Detail(s.buf[:0], "", oneLine(struct {
			Phase *event.Phase `json:"phase"`
		}{p})))
	case p.Name == event.PhaseLoading:
		if line := s.reasoning(turn.Update{Text: "loading the model"}); line != "" {
			return s.send(s.chunks.Reasoning(s.buf[:0], line))
		}
	}
	return nil
}

// content sends text in frames that every client can read.
func (s *streamer) content(text string) error {
	s.sent += len(text)
	s.noteSent(text)
	if text != "" {
		s.x.firstText()
	}
	for text != "" {
		var piece string
		piece, text = openai.Piece(text)
		if err := s.send(s.chunks.Content(s.buf[:0], piece)); err != nil {
			return err
		}
	}
	return nil
}

// answered sends the answer as far as the client does not have it: rest, or the call
// of its function.
func (s *streamer) answered(e ending, rest string) error {
	if e.function == "" {
		return s.content(rest)
	}
	s.noteSent(e.answer)
	s.x.firstText()
	for _, chunk := range s.chunks.CallOf(openai.CallID(s.id, s.att.ConversationID()), e.function, e.answer) {
		if err := s.send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the stream: in a finish, or in an error frame.
func (s *streamer) finish(ctx context.Context) error {
	e := s.end(ctx)
	if e.problem != nil {
		return s.deliver(ctx, func() error { return s.events.Data(e.problem.wire.AppendEnvelope(s.buf[:0])) })
	}
	before := max(0, s.sent-len(e.answer))
	rest := e.text()
	if s.showsText() { // the answer is there already
		rest = e.added()
		if rest != "" && e.answer != "" {
			rest = "\n\n" + rest
		}
	}
	if err := s.answered(e, rest); err != nil {
		return err
	}
	if why := e.refusal(); why != "" {
		if err := s.send(s.chunks.Refusal(s.buf[:0], why)); err != nil {
			return err
		}
	}
	if err := s.send(s.chunks.Finish(s.buf[:0], e.finish, e.extension(before))); err != nil {
		return err
	}
	if s.call.IncludeUsage {
		if err := s.send(s.chunks.Usage(s.buf[:0], e.usage)); err != nil {
			return err
		}
	}
	return s.deliver(ctx, func() error { return s.events.Data([]byte(openai.Done)) })
}

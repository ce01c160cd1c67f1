package completions

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/sse"
)

// streamer writes an answer as a stream of chunks.
type streamer struct {
	*Answer
	chunks *openai.Chunks
	events *sse.Writer
	buf    []byte
	sent   int // bytes of text
}

// stream begins at once, whatever the agent does: clients give up on silence
// and send their request again.
func (a *Answer) stream(ctx context.Context) error {
	a.X.Seen.Answer = gate.AnswerStream
	s := &streamer{Answer: a}
	defer a.api.core.Metrics.StreamOpens()()
	if err := s.begin(); err != nil {
		return err
	}
	if err := a.Updates(ctx, a.api.Heartbeat, s.show, s.beat); err != nil {
		return s.stopped(err)
	}
	return s.finish(ctx)
}

// begin sends the headers and the first frame.
func (s *streamer) begin() error {
	s.chunks = openai.NewChunks(s.id, s.model, s.created, s.call.IncludeUsage)
	s.events = sse.NewWriter(s.X, s.X.FlushNow)
	s.X.StreamHeaders()
	if err := s.send(s.chunks.Role(s.buf[:0])); err != nil {
		return err
	}
	if s.Attachment.Queue() > 0 { // the place is worth a frame of its own
		return s.beat()
	}
	return nil
}

// stopped ends a stream before its answer has ended.
func (s *streamer) stopped(err error) error {
	if !IsGap(err) {
		return err
	}
	s.X.Seen.Code = gate.CodeReaderTooSlow
	return errors.Join(err, s.events.Data(gate.Explain(err).Wire.AppendEnvelope(s.buf[:0])))
}

func (s *streamer) send(chunk []byte) error {
	s.buf = chunk
	return s.events.Data(chunk)
}

func (s *streamer) beat() error { return s.send(s.chunks.Heartbeat(s.buf[:0], s.Attachment.Queue())) }

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
		if s.call.Options.Details { // the frame has the place in the queue
			return s.beat()
		}
		if line := s.reasoning(u); line != "" {
			return s.send(s.chunks.Reasoning(s.buf[:0], line))
		}
	case turn.Phase:
		return s.phase(u.Phase)
	case turn.Text:
		switch {
		case s.api.AnswerOnly:
		case s.call.Schema == nil:
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
	case s.call.Options.Phases:
		return s.send(s.chunks.Detail(s.buf[:0], "", openai.OneLine(struct {
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
	s.NoteSent(text)
	if text != "" {
		s.X.FirstText()
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
func (s *streamer) answered(e Ending, rest string) error {
	if e.function == "" {
		return s.content(rest)
	}
	s.NoteSent(e.Answer)
	s.X.FirstText()
	for _, chunk := range s.chunks.CallOf(openai.CallID(s.id, s.Attachment.ConversationID()), e.function, e.Answer) {
		if err := s.send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the stream: in a finish, or in an error frame.
func (s *streamer) finish(ctx context.Context) error {
	e := s.End(ctx)
	if e.Problem != nil {
		return s.Deliver(ctx, func() error { return s.events.Data(e.Problem.Wire.AppendEnvelope(s.buf[:0])) })
	}
	before := max(0, s.sent-len(e.Answer))
	rest := e.text()
	if s.showsText() { // the answer is there already
		rest = e.Added()
		if rest != "" && e.Answer != "" {
			rest = "\n\n" + rest
		}
	}
	if err := s.answered(e, rest); err != nil {
		return err
	}
	if why := e.Refusal(); why != "" {
		if err := s.send(s.chunks.Refusal(s.buf[:0], why)); err != nil {
			return err
		}
	}
	if err := s.send(s.chunks.Finish(s.buf[:0], e.Finish, e.Extension(before))); err != nil {
		return err
	}
	if s.call.IncludeUsage {
		if err := s.send(s.chunks.Usage(s.buf[:0], e.Usage)); err != nil {
			return err
		}
	}
	return s.Deliver(ctx, func() error { return s.events.Data([]byte(openai.Done)) })
}

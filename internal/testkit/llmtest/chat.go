package llmtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// This file is the only one that knows how a Reply looks as a chat completion.

// argsPiece is the length of the pieces, in runes, in which the arguments of a
// tool call are streamed.
const argsPiece = 12

// listModels answers GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	names := s.models
	s.mu.Unlock()
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		Owner   string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, name := range names {
		list.Data = append(list.Data, model{ID: name, Object: "model", Owner: "llmtest"})
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, encode(list))
}

// writeChat writes reply in the form that req asks for. Its error is
// errBroken, or else says that the client (or the server) has gone.
func writeChat(ctx context.Context, w http.ResponseWriter, req *Request, reply Reply, id string) error {
	if err := sleep(ctx, reply.Wait); err != nil {
		return err
	}
	for name, values := range reply.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if reply.Status != 0 {
		return writeFailure(w, reply)
	}
	if reply.End == Drop {
		return errBroken // before the first byte
	}
	if reply.ID != "" {
		id = reply.ID
	}
	c := &chat{ctx: ctx, w: w, id: id, model: req.Model, created: req.Started.Unix(), habits: reply.Habits}
	defer c.compress()()
	if req.Stream && !c.has(Whole) {
		return c.stream(reply, req.withUsage)
	}
	return c.whole(reply)
}

func writeFailure(w http.ResponseWriter, reply Reply) error {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(reply.Status)
	_, err := io.WriteString(w, reply.Body)
	return err
}

// chat is one chat completion that is being written.
type chat struct {
	ctx       context.Context // of the request; this type lives no longer
	w         http.ResponseWriter
	id, model string
	created   int64
	habits    []Habit
	out       io.Writer // w, or what compresses it
}

// completion is a chat.completion or one chunk of it.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   any      `json:"usage,omitempty"`
}

type choice struct {
	Index        int          `json:"index"`
	Message      *chatContent `json:"message,omitempty"`
	Delta        *chatContent `json:"delta,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type chatContent struct {
	Role             string         `json:"role,omitempty"`
	Content          any            `json:"content,omitempty"` // a text, or Mistral's list of parts
	ReasoningContent string         `json:"reasoning_content,omitempty"`
	Reasoning        string         `json:"reasoning,omitempty"`
	ReasoningDetails any            `json:"reasoning_details,omitempty"`
	ToolCalls        []chatToolCall `json:"tool_calls,omitempty"`
}

type chatToolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
	Extra    any          `json:"extra_content,omitempty"` // Google's signature
}

type chatFunction struct {
	Name string `json:"name,omitempty"`
	Args any    `json:"arguments"` // a text; with ObjectArguments what it stands for
}

// whole writes the reply as one JSON object.
func (c *chat) whole(reply Reply) error {
	var fed strings.Builder
	if err := c.feed(reply.Feed, func(piece string) error { fed.WriteString(piece); return nil }); err != nil {
		return err
	}
	text, stop := fed.String()+reply.Text, reply.stop()
	message := &chatContent{Role: "assistant", Content: c.spoken(reply.Reasoning, text)}
	c.think(message, reply.Reasoning)
	for i, call := range reply.Calls {
		message.ToolCalls = append(message.ToolCalls, c.callStart(i, call, c.arguments(call.Args)))
	}
	out := c.completion("chat.completion", choice{Message: message, FinishReason: &stop})
	out.Usage = c.usage(reply)
	body := encode(out)

	c.w.Header().Set("Content-Type", "application/json")
	switch reply.End {
	case Hang:
		return sleep(c.ctx, -1)
	case Cut, Garble, Stop:
		body = body[:len(body)/2]
	case Refuse:
		body = reply.Frame
	case Complete, Drop:
	}
	if _, err := io.WriteString(c.out, body); err != nil {
		return err
	}
	if reply.End == Cut {
		return c.cut()
	}
	return nil
}

// stream writes the reply as server-sent events.
func (c *chat) stream(reply Reply, withUsage bool) error {
	c.w.Header().Set("Content-Type", "text/event-stream")
	if err := c.beginning(); err != nil {
		return err
	}
	if err := c.content(reply); err != nil {
		return err
	}
	switch reply.End {
	case Hang:
		return sleep(c.ctx, -1)
	case Cut:
		return c.cut()
	case Garble:
		return c.frame(`{"id":"` + c.id + `","choices":[{"delta":`)
	case Stop:
		return nil
	case Refuse:
		return c.frame(reply.Frame)
	case Complete, Drop:
	}
	return c.ending(reply, withUsage)
}

// content streams what the reply says, a pause after every piece.
func (c *chat) content(reply Reply) error {
	if err := c.reasoning(reply); err != nil {
		return err
	}
	text := func(piece string) error { return c.delta(chatContent{Content: piece}) }
	if err := c.feed(reply.Feed, text); err != nil {
		return err
	}
	for piece := range words(reply.Text) {
		if err := c.paced(reply, chatContent{Content: piece}); err != nil {
			return err
		}
	}
	for i, call := range reply.Calls {
		if err := c.call(reply, i, call); err != nil {
			return err
		}
	}
	return nil
}

// call streams the i-th tool call: its name, then its arguments in pieces.
func (c *chat) call(reply Reply, i int, call Call) error {
	if c.has(ObjectArguments) {
		return c.paced(reply, chatContent{ToolCalls: []chatToolCall{c.callStart(i, call, c.arguments(call.Args))}})
	}
	piece := c.callStart(i, call, "")
	for args := []rune(call.Args); ; {
		if err := c.paced(reply, chatContent{ToolCalls: []chatToolCall{piece}}); err != nil {
			return err
		}
		if len(args) == 0 {
			return nil
		}
		n := min(argsPiece, len(args))
		piece = chatToolCall{Index: c.index(i), Function: chatFunction{Args: string(args[:n])}}
		args = args[n:]
	}
}

// words yields text in pieces that end after a space, as models send them.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if text == "" {
			return
		}
		for piece := range strings.SplitAfterSeq(text, " ") {
			if piece != "" && !yield(piece) {
				return
			}
		}
	}
}

func (c *chat) callStart(i int, call Call, args any) chatToolCall {
	start := chatToolCall{Index: c.index(i), ID: call.ID, Type: "function", Function: chatFunction{Name: call.Name, Args: args}}
	if c.has(Signed) {
		start.Extra = map[string]any{"google": map[string]string{"thought_signature": Signature(call.ID)}}
	}
	return start
}

// feed hands on what the test feeds until it closes the channel; a nil channel
// feeds nothing.
func (c *chat) feed(pieces <-chan string, write func(string) error) error {
	for pieces != nil {
		select {
		case piece, more := <-pieces:
			if !more {
				return nil
			}
			if err := write(piece); err != nil {
				return err
			}
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	return nil
}

func (c *chat) paced(reply Reply, delta chatContent) error {
	if err := c.delta(delta); err != nil {
		return err
	}
	return sleep(c.ctx, reply.Pace)
}

func (c *chat) delta(delta chatContent) error { return c.chunk(choice{Delta: &delta}) }

func (c *chat) chunk(only choice) error {
	return c.frame(encode(c.completion("chat.completion.chunk", only)))
}

func (c *chat) completion(object string, choices ...choice) completion {
	if choices == nil {
		choices = []choice{}
	}
	return completion{ID: c.id, Object: object, Created: c.created, Model: c.model, Choices: choices}
}

// frame writes one event and sends it off at once.
func (c *chat) frame(data string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.has(KeepAlive) {
		if _, err := io.WriteString(c.out, ": PROCESSING\n\n"); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(c.out, "data: %s\n\n", data); err != nil {
		return err
	}
	return c.flush()
}

// cut makes sure that what was written is on its way, and breaks off.
func (c *chat) cut() error {
	if err := c.flush(); err != nil {
		return err
	}
	return errBroken
}

// sleep waits for d, for ever if d is negative, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	var elapsed <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-elapsed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package acp

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
)

// turn is a prompt on its way to its end.
type turn struct {
	a *Agent
	s *session

	sent strings.Builder // text that the editor has
	// back is how much of sent is expected again, after a lost connection: the
	// gateway repeats its answer from the beginning.
	back    string
	held    string // text that may be a notice of the gateway; see text
	started bool
	key     string // of the question
	actions int    // lines of progress so far
	skip    int    // lines of progress that are expected again
}

// prompt asks the agent.
func (a *Agent) prompt(ctx context.Context, p promptParams) (any, jsonrpc.Work, error) {
	s, err := a.need(p.Session)
	if err != nil {
		return nil, nil, err
	}
	m, err := read(p.Prompt)
	if err != nil {
		return nil, nil, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	return nil, func() (any, error) {
		defer end()
		reason, err := a.run(ctx, s, m)
		if ctx.Err() != nil {
			return promptResult{StopReason: stopCancelled}, nil
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return promptResult{StopReason: reason}, nil
	}, nil
}

// run asks until the agent has ended its turn, and gives the reason.
func (a *Agent) run(ctx context.Context, s *session, m message) (string, error) {
	endpoint, err := a.open(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	q := gateway.Question{Model: s.model, Conversation: s.id, Text: m.text, Images: m.images, Key: a.cfg.NewID()}
	s.mu.Unlock()
	t := &turn{a: a, s: s, key: q.Key}
	end, err := t.ask(ctx, endpoint, q)
	if err != nil {
		return "", err
	}
	if end.Finish == "length" {
		return stopTokens, nil
	}
	return stopEnd, nil
}

// ask sends a question and tells the editor what comes.
func (t *turn) ask(ctx context.Context, endpoint gateway.Endpoint, q gateway.Question) (gateway.Done, error) {
	var end gateway.Done
	for p, err := range endpoint.Ask(ctx, q) {
		if err != nil {
			_ = t.flush() // The error is what counts.
			return end, err
		}
		if d, ok := p.(gateway.Done); ok {
			end = d
		}
		if err := t.show(p); err != nil {
			return end, err
		}
	}
	return end, nil
}

// show tells the editor about a piece of an answer.
func (t *turn) show(p gateway.Piece) error {
	if text, ok := p.(gateway.Text); ok {
		return t.text(string(text))
	}
	if err := t.flush(); err != nil {
		return err
	}
	switch p := p.(type) {
	case gateway.Started:
		t.begin()
	case gateway.Progress:
		return t.progress(string(p))
	}
	return nil
}

// begin starts the answer, or starts it again after a lost connection.
func (t *turn) begin() {
	if t.started {
		t.back, t.skip = t.sent.String(), t.actions
		t.sent.Reset()
		t.actions = 0
	}
	t.started = true
}

// text tells the editor what it has not seen of a piece. A piece that begins the
// answer or a paragraph is held until the next one comes: it may be the
// gateway's notice, which is for clients that have no dialogs.
func (t *turn) text(text string) error {
	if err := t.flush(); err != nil {
		return err
	}
	if t.sent.Len() == 0 || strings.HasPrefix(text, "\n\n") {
		t.held = text
		return nil
	}
	return t.send(text)
}

func (t *turn) flush() error {
	text := t.held
	t.held = ""
	return t.send(text)
}

func (t *turn) send(text string) error {
	if text == "" {
		return nil
	}
	t.sent.WriteString(text)
	n := min(len(text), len(t.back))
	if text[:n] == t.back[:n] {
		t.back, text = t.back[n:], text[n:]
	} else {
		t.back = "" // After a crash a gateway knows only the answer.
		text = "\n\n" + text
	}
	if text == "" {
		return nil
	}
	return t.update(chunk{Kind: "agent_message_chunk", Content: block{Type: "text", Text: text}})
}

func (t *turn) update(u any) error {
	return t.a.conn.Notify(methodUpdate, notification{Session: t.s.id, Update: u})
}

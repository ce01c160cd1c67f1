package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
)

// turn is a prompt on its way to its end.
type turn struct {
	a *Agent
	s *session

	calls map[string]gateway.Call // what the editor knows, by ID

	// Of the question that is asked now; there are several where actions wait for
	// a confirmation.
	key     string
	started bool
	sent    strings.Builder // text that the editor has
	// back is how much of sent is expected again, after a lost connection: the
	// gateway repeats its answer from the beginning.
	back    string
	held    string   // text that may be a notice of the gateway; see text
	actions int      // lines of progress so far
	skip    int      // lines of progress that are expected again
	pending []string // the IDs of actions that wait
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
	t := &turn{a: a, s: s, calls: make(map[string]gateway.Call)}
	q := gateway.Question{Text: m.text, Images: m.images}
	for {
		end, err := t.ask(ctx, endpoint, q)
		switch {
		case err != nil:
			return "", err
		case end.RunStatus == "cancelled":
			return stopCancelled, nil
		case end.Finish == "length":
			return stopTokens, nil
		case end.RunStatus != "waiting_for_confirmation":
			return stopEnd, nil
		}
		q = gateway.Question{}
		q.Decision, err = t.permission(ctx, end)
		if errors.Is(err, errCancelled) {
			return stopCancelled, nil
		}
		if q.Decision == gateway.Reject {
			q.Text = refusal
			err = t.rejected()
		}
		if err != nil {
			return "", err
		}
	}
}

// ask sends a question and tells the editor what comes.
func (t *turn) ask(ctx context.Context, endpoint gateway.Endpoint, q gateway.Question) (gateway.Done, error) {
	t.s.mu.Lock()
	q.Model, q.Confirmation = t.s.model, t.s.confirmation
	t.s.mu.Unlock()
	q.Conversation, q.Workspace, q.Key, q.Details = t.s.id, t.s.workspace, t.a.cfg.NewID(), true
	t.key, t.started, t.back, t.held, t.actions, t.skip, t.pending = q.Key, false, "", "", 0, 0, nil
	t.sent.Reset()
	for p, err := range endpoint.Ask(ctx, q) {
		if err != nil {
			_ = t.flush() // The error is what counts.
			return gateway.Done{}, err
		}
		if end, ok := p.(gateway.Done); ok {
			return end, t.end(end)
		}
		if err := t.show(p); err != nil {
			return gateway.Done{}, err
		}
	}
	return gateway.Done{}, errNoEnd
}

// errNoEnd is an answer that ended without a word. No gateway does that.
var errNoEnd = errors.New("the answer did not come to its end")

// end tells the editor how the answer ended. Actions that wait are asked about
// in a dialog, so the notice about them is not a part of the answer.
func (t *turn) end(end gateway.Done) error {
	if end.RunStatus == "waiting_for_confirmation" && strings.HasSuffix(t.held, end.Notice) {
		t.held = ""
	}
	if err := t.flush(); err != nil {
		return err
	}
	u := usage{Kind: "usage_update", Used: end.Context.Tokens, Size: end.Context.Window}
	t.s.mu.Lock()
	if spent := end.Usage.Cost; spent != nil {
		if t.s.cost != nil {
			spent = new(*spent + *t.s.cost)
		}
		t.s.cost = spent
	}
	if t.s.cost != nil {
		u.Cost = &cost{*t.s.cost, "USD"}
	}
	t.s.mu.Unlock()
	if u.Size == 0 {
		return nil
	}
	return t.update(u)
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
	case gateway.Call:
		if p.State == "waiting" {
			t.pending = append(t.pending, p.ID)
		}
		return t.call(p)
	case gateway.Block:
		return t.think(refused(p))
	case gateway.Retry:
		return t.think(fmt.Sprintf("%s; attempt %d of %d in %.0f s.\n", p.Cause, p.Attempt, p.Of, p.Seconds))
	}
	return nil
}

// refused says what the sandbox refused, and how it can be allowed.
func refused(b gateway.Block) string {
	text := "The sandbox refused " + b.Access + " " + b.Target
	if b.Why != "" {
		text += ": " + b.Why
	}
	if b.Allow != "" {
		text += ". To allow it: ohgw sandbox allow " + b.Allow
	}
	return text + "\n"
}

// begin starts the answer, or starts it again after a lost connection.
func (t *turn) begin() {
	if t.started {
		t.back, t.skip = t.sent.String(), t.actions
		t.sent.Reset()
		t.actions, t.pending = 0, nil
	}
	t.started = true
}

// think tells the editor something beside the answer.
func (t *turn) think(text string) error {
	return t.update(chunk{Kind: "agent_thought_chunk", Content: block{Type: "text", Text: text}})
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

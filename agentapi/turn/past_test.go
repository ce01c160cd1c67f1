package turn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// past is a log of turns, as the process that began a turn, or one that was started
// after it, finds it.
type past struct {
	*conversation

	kind   pastKind
	status event.Status
	events []event.Event
	turns  []pastTurn
}

// pastKind is who writes the log.
type pastKind int

const (
	engineLog     pastKind = iota // what a crash left is repaired when it is opened
	serverLog                     // a run that died is told, a message without a run is not
	oldServerLog                  // of a run that died there is no status
	statuslessLog                 // there are no statuses
	pastKinds
)

// pastTurn is a turn and what is to be read of it.
type pastTurn struct {
	base turn.Baseline
	text string // that all texts of the turn have
	want turn.Outcome
	// none: nothing ran. lost: the run died.
	none, lost bool
}

func newPast(kind pastKind) *past {
	return &past{conversation: newConversation(event.Idle), kind: kind, status: event.Idle}
}

func (p *past) add(e event.Event) event.Event { p.events = append(p.events, e); return e }

func (p *past) become(s event.Status) {
	p.status = s
	if p.kind != statuslessLog {
		p.add(p.conversation.status(s))
	}
}

// base is where a turn with a message starts now.
func (p *past) base(message string) turn.Baseline {
	c := newConversation(event.Idle)
	c.first.LeafEventID = agentapi.FromStart
	if len(p.events) > 0 {
		c.first.LeafEventID = p.events[len(p.events)-1].ID
	}
	in := turn.Input{Message: agentapi.Message{Text: message}, Emit: func(turn.Update) {}}
	var b turn.Baseline
	in.Ready = func(base turn.Baseline) error { b = base; return errTest }
	_, _ = turn.Run(context.Background(), c, in)
	return b
}

// ask is a message of the user, as all that write one leave it.
func (p *past) ask(text string) {
	if p.status == event.Finished || p.status == event.Stuck {
		if p.kind == engineLog {
			p.status = event.Idle
		} else {
			p.become(event.Idle)
		}
	}
	p.add(p.user(text))
}

// nudge is a message that no person has sent.
func (p *past) nudge() {
	p.add(p.event(event.SourceEnvironment, &event.Message{LLMMessage: event.LLMMessage{
		Role: "user", Content: []event.Content{event.Text("[Stop hook feedback] go on")},
	}}))
}

// call is a tool call with a result.
func (p *past) call(text string) {
	a := p.add(p.action(text, "terminal", `{"command":"true"}`))
	p.add(p.result(a))
}

// play adds a turn that is not cut off.
func (p *past) play(r *rand.Rand, text string) turn.Outcome {
	p.ask("question " + text)
	p.become(event.Running)
	for range r.IntN(3) {
		switch r.IntN(6) {
		case 0:
			p.nudge()
		case 1:
			p.add(p.event(event.SourceEnvironment, &event.Condensation{}))
		case 2:
			if p.kind != statuslessLog { // another client's message, answered by this run
				p.add(p.user("meanwhile"))
			}
		case 3:
			if p.kind == serverLog { // a hook does not let it end
				p.add(p.message("early " + text))
				p.become(event.Finished)
				p.nudge()
				p.become(event.Running)
			}
		default:
			p.call(text)
		}
	}
	switch r.IntN(6) {
	case 0:
		p.add(p.action("", "finish", `{"message":"answer `+text+`","kind":"FinishAction"}`))
	case 1:
		p.call(text)
		p.become(event.Paused)
		p.add(p.event(event.SourceUser, &event.Interrupt{}))
		return turn.Interrupted
	case 2:
		p.call(text)
		p.become(event.Failed)
		p.add(p.event(event.SourceEnvironment, &event.ConversationError{Code: "MaxIterationsReached", Detail: text}))
		return turn.Failed
	case 3:
		if p.kind != statuslessLog {
			p.call(text)
			a := p.add(p.action(text, "terminal", `{"command":"false"}`))
			p.become(event.Waiting)
			p.decide(r, a)
			return turn.Waiting
		}
		p.add(p.message("answer " + text))
	default:
		p.add(p.message("answer " + text))
	}
	p.become(event.Finished)
	return turn.Finished
}

// decide answers what waits: it is accepted, without a message, or rejected.
func (p *past) decide(r *rand.Rand, a event.Event) {
	if r.IntN(2) == 0 {
		p.add(p.event(event.SourceEnvironment, &event.UserReject{ToolCallID: a.Body.(*event.Action).ToolCallID}))
		p.become(event.Idle)
		return
	}
	p.turns = append(p.turns, pastTurn{base: p.base("x"), text: "accepted", want: turn.Finished})
	last := &p.turns[len(p.turns)-1]
	last.base.Message, last.base.Accepts = "", true
	p.become(event.Running)
	p.add(p.result(a))
	p.add(p.message("answer accepted"))
	p.become(event.Finished)
}

// crash cuts the last turn off, which began with the event at from, and says what is
// then to be read of it.
func (p *past) crash(r *rand.Rand, from int, before event.Status, t *pastTurn) {
	cut := from + r.IntN(len(p.events)-from)
	p.events = p.events[:cut]
	ran, said := false, false
	var open *event.Action
	sent := false
	for _, e := range p.events[from:] {
		switch b := e.Body.(type) {
		case *event.Message:
			sent = sent || e.Source == event.SourceUser
			ran, said = ran || e.Source == event.SourceAgent, e.Source == event.SourceAgent
		case *event.Action:
			ran, open, said = true, b, b.ToolName == "finish"
		case *event.Observation:
			open, said = nil, false
		}
		if s, ok := e.StatusUpdate(); ok {
			p.status, ran = s, ran || s == event.Running
		}
	}
	if !sent {
		t.none = true // whatever was told before the message
		p.status = before
		return
	}
	if p.kind == statuslessLog {
		p.status = event.Failed
		t.none, t.lost = !ran, ran && !said
		if said {
			t.want = turn.Finished
		}
		return
	}
	if ran && p.status != event.Running { // with its status it is over
		switch _, cause := p.events[cut-1].Body.(*event.StateUpdate); {
		case p.status == event.Failed:
			t.lost = cause // which was to come
		case p.status == event.Finished:
			t.want = turn.Finished
		case cause && t.want == turn.Interrupted:
			t.want = turn.Paused
		}
		return
	}
	t.none, t.lost = !ran, ran
	if open != nil {
		p.add(p.event(event.SourceEnvironment, &event.AgentError{ToolCallID: open.ToolCallID, Error: "died"}))
	}
	switch {
	case p.kind == oldServerLog && ran:
		p.status = event.Failed
	case p.kind == engineLog || ran:
		p.become(event.Failed)
	default:
		p.status = before
	}
}

// follow reads a turn as a process that has only its baseline does.
func (p *past) follow(t *testing.T, b turn.Baseline) (turn.Result, string, error) {
	t.Helper()
	at := 0
	for i, e := range p.events {
		if e.ID == b.After {
			at = i + 1
		}
	}
	c := newConversation(p.status)
	c.events = make(chan event.Event, len(p.events)+1)
	c.say(p.events[at:]...)
	c.say(p.snapshot(event.State{Status: p.status}))
	close(c.events)
	c.lost = errTest
	var s shown
	res, err := turn.Follow(t.Context(), c, b, func(u turn.Update) { s.add([]turn.Update{u}) }, nil)
	return res, s.text, err
}

// check reads a turn and compares.
func (p *past) check(t *testing.T, want pastTurn) {
	t.Helper()
	res, text, err := p.follow(t, want.base)
	for _, word := range strings.Fields(res.Answer + " " + text) {
		if strings.HasPrefix(word, "turn-") && word != want.text {
			t.Errorf("the turn %s has the text of %s: answer %q, text %q", want.text, word, res.Answer, text)
		}
	}
	switch {
	case want.none:
		if !errors.Is(err, turn.ErrNoTurn) {
			t.Errorf("%s: result = %+v, error %v, want that nothing ran", want.text, res, err)
		}
	case err != nil:
		t.Errorf("%s: %v", want.text, err)
	case want.lost:
		if res.Outcome != turn.Failed || res.Cause == nil || res.Cause.Kind != turn.CauseLost {
			t.Errorf("%s: result = %+v, want that it is lost", want.text, res)
		}
	case res.Outcome != want.want:
		t.Errorf("%s: outcome %d, want %d", want.text, res.Outcome, want.want)
	case want.want == turn.Finished && res.Answer != "answer "+want.text && !strings.HasPrefix(res.Answer, "early"):
		t.Errorf("%s: answer %q", want.text, res.Answer)
	}
}

// Each turn of a log has its own text and status only, whatever came after it and
// wherever the process that ran it died.
func TestTurnsOfALogAreReadApart(t *testing.T) {
	t.Parallel()
	const logs = 2000
	for seed := range uint64(logs) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := newPast(pastKind(r.IntN(int(pastKinds))))
		for i := range 2 + r.IntN(4) {
			text := fmt.Sprintf("turn-%d", i)
			this := pastTurn{base: p.base("question " + text), text: text}
			from, at, before := len(p.events), len(p.turns), p.status
			this.want = p.play(r, text)
			if r.IntN(2) == 0 && len(p.turns) == at {
				p.crash(r, from, before, &this)
			}
			p.turns = append(p.turns, this)
		}
		for _, want := range p.turns {
			p.check(t, want)
		}
		if t.Failed() {
			var log strings.Builder
			for _, e := range p.events {
				s, _ := e.StatusUpdate()
				fmt.Fprintf(&log, "%s %s %s %s\n", e.ID, e.Source, e.Kind(), s)
			}
			t.Fatalf("seed %d, kind %d, state %q:\n%s", seed, p.kind, p.status, log.String())
		}
	}
}

// The message of a turn is known again, also where the log has a mark in the place of a
// secret; another message is not taken for it.
func TestATurnIsKnownByItsMessage(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]error{
		"use the key k-4711":              nil,
		"use the key <secret-hidden>":     nil,
		"use another key":                 turn.ErrNoTurn,
		"use the key k-4711 and no other": turn.ErrNoTurn,
	} {
		p := newPast(serverLog)
		base := p.base("use the key k-4711")
		p.ask(stored)
		p.become(event.Running)
		p.add(p.message("done"))
		p.become(event.Finished)
		if res, _, err := p.follow(t, base); !errors.Is(err, want) || (want == nil) != (res.Answer == "done") {
			t.Errorf("%q: result = %+v, error %v; want %v", stored, res, err, want)
		}
	}
}

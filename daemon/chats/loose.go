package chats

import (
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// maxLoose is how many conversations without a chat are remembered.
	maxLoose = 1000
	// maxLooseTurns is how many turns such a conversation may have: a chat that
	// gets its name late is young.
	maxLooseTurns = 100
)

// loose are conversations whose request named no chat. Some UIs name a chat
// with its second message only: its history proves which conversation it is.
type loose struct {
	keep time.Duration

	mu   sync.Mutex
	list []looseEntry // oldest first
}

type looseEntry struct {
	token, model string
	until        time.Time
	branch       *branch
}

// claim takes out the conversation that a history is from, if there is one.
func (l *loose) claim(token, model string, history []Round, now time.Time) *branch {
	if len(history) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range slices.Backward(l.list) {
		if e.token != token || e.model != model || now.After(e.until) {
			continue
		}
		if isOf(history, e.branch.Turns) {
			l.list = slices.Delete(l.list, i, i+1)
			return e.branch
		}
	}
	return nil
}

// isOf reports whether a history is all that was said in a conversation with these turns.
func isOf(history []Round, turns []Turn) bool {
	if !ends(history, turns) {
		return false // at once: there may be a thousand, and others wait
	}
	p := Reconcile(history, [][]Turn{turns}, Rules{Shared: true})
	return p.Kind == Continued && p.From == 0 && p.Rest == len(history)
}

// Remember notes the answer of a conversation whose request named no chat.
func (r *Registry) Remember(token, model, conversation string, history []openai.Turn, text string, answer *Text) {
	now := r.cfg.Now()
	shown := answer.Digest()
	if shown == "" || r.cfg.Loose <= 0 {
		return
	}
	turns := append(asTold(Rounds(history)), Turn{User: Of(text), Answers: []Digest{shown}})
	if len(turns) > maxLooseTurns {
		return
	}
	b := &branch{Conversation: conversation, Used: now, Turns: turns}
	if r.shared != nil {
		r.shared.addLoose(token, model, b, r.cfg.Loose)
		return
	}
	l := &r.loose
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(e looseEntry) bool { return now.After(e.until) })
	if len(l.list) >= maxLoose {
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, looseEntry{token: token, model: model, until: now.Add(l.keep), branch: b})
}

// ends reports whether the turns end with all rounds of the history.
func ends(history []Round, turns []Turn) bool {
	if len(turns) < len(history) {
		return false
	}
	for i, t := range turns[len(turns)-len(history):] {
		if history[i].matches(t) == different {
			return false
		}
	}
	return true
}

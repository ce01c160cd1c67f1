package responses

import (
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// maxWords is how many responses of a token are found by what was said.
	maxWords = 1024
	// keepWords is how long after its end a response is found so.
	keepWords = 24 * time.Hour
)

// words finds responses by what was said up to their end, for clients that send
// the whole chat with each request and no id. It is in memory only. The zero value
// is empty.
type words struct {
	mu   sync.Mutex
	list map[string][]*spoken // by token, oldest first
}

// spoken is a response that has ended.
type spoken struct {
	rec  Record // without what only its file needs
	said []chats.Digest
}

// add notes a response whose question is known, with the forms of its answer.
// One that is not stored is noted in any case: nothing else knows of it.
func (w *words) add(rec Record, asked chats.Digest, answers []string) {
	e := &spoken{rec: rec}
	e.rec.Object, e.rec.Input, e.rec.Echo, e.rec.Text = nil, nil, openai.Echo{}, ""
	for _, answer := range answers {
		if d := asked.Answered(answer); asked != "" && d != asked && !slices.Contains(e.said, d) {
			e.said = append(e.said, d)
		}
	}
	if len(e.said) == 0 && !rec.Unstored {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = make(map[string][]*spoken)
	}
	list := w.list[rec.Token]
	if len(list) >= maxWords {
		list = slices.Delete(list, 0, len(list)-maxWords+1)
	}
	w.list[rec.Token] = append(list, e)
}

// find gives copies of the responses of a token that match, the newest first.
func (w *words) find(token string, matches func(*spoken) bool) []Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Record
	for _, e := range slices.Backward(w.list[token]) {
		if matches(e) {
			found = append(found, e.rec)
		}
	}
	return found
}

// follow notes that an unstored response is gone on from, and reports whether the
// previous one of rec is such a response.
func (w *words) follow(rec Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.list[rec.Token] {
		if e.rec.ID == rec.Previous && e.rec.Unstored {
			if e.rec.Conversation == rec.Conversation {
				e.rec.Next = rec.ID
			}
			return true
		}
	}
	return false
}

// forget forgets the responses of a conversation that is gone.
func (w *words) forget(conversation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for token, list := range w.list {
		w.list[token] = slices.DeleteFunc(list, func(e *spoken) bool { return e.rec.Conversation == conversation })
	}
}

// Past says which of the responses that are in memory count.
type Past struct {
	Token string
	Model string // as the client names it, or as the answer did
	Now   time.Time
	// Loose is how long the conversation of an unstored response is there after its
	// end.
	Loose time.Duration
}

func (p Past) knows(rec Record) bool {
	age := p.Now.Sub(rec.Ended)
	return age < keepWords && (!rec.Unstored || age < p.Loose)
}

// ByItem is the unstored response of this id; nil: there is none.
func (s *Store) ByItem(p Past, id string) *Record {
	for _, rec := range s.words.find(p.Token, func(e *spoken) bool { return e.rec.ID == id && e.rec.Unstored && p.knows(e.rec) }) {
		return &rec
	}
	return nil
}

// BySaid finds the response that a transcript ends with: the newest that nothing goes
// on from, else the newest. It is nil where there is none.
func (s *Store) BySaid(p Past, said chats.Digest) *Record {
	var newest *Record
	for _, rec := range s.words.find(p.Token, func(e *spoken) bool {
		return (e.rec.Model == p.Model || e.rec.Routed == p.Model) && p.knows(e.rec) && slices.Contains(e.said, said)
	}) {
		found := &rec
		if !rec.Unstored {
			stored, err := s.Load(rec.ID)
			if err != nil {
				continue // deleted, or of no use
			}
			found = stored
		}
		if !s.isClaimed(found) {
			return found
		}
		if newest == nil {
			newest = found
		}
	}
	return newest
}

// isClaimed reports whether a request goes on from a response.
func (s *Store) isClaimed(rec *Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rec.Next != "" || s.claimed[rec.ID]
}

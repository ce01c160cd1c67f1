package responses

import (
	"context"
	"slices"
	"strings"
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
	// asked is what was said up to an answer that did not come to its end, and begun
	// what there is of that, in normal form: its reader may have seen less.
	asked chats.Digest
	begun string
}

// remember notes a response whose question is known, with the forms of its answer.
// One that is not stored is noted in any case: nothing else knows of it.
func (s *Store) remember(rec Record, asked chats.Digest, answers []string) error {
	e := newSpoken(rec, asked, answers)
	if len(e.said) == 0 && !rec.Unstored {
		return nil
	}
	if s.shared != nil {
		return s.addShared(e)
	}
	s.words.add(e)
	return nil
}

func newSpoken(rec Record, asked chats.Digest, answers []string) *spoken {
	e := &spoken{rec: rec}
	if rec.Status != openai.ResponseCompleted && asked != "" && len(answers) > 0 {
		e.asked, e.begun = asked, chats.Beginning(answers[len(answers)-1])
	}
	e.rec.Object, e.rec.Input, e.rec.Echo, e.rec.Text = nil, nil, openai.Echo{}, ""
	for _, answer := range answers {
		if d := asked.Answered(answer); asked != "" && d != asked && !slices.Contains(e.said, d) {
			e.said = append(e.said, d)
		}
	}
	return e
}

// add notes a response.
func (w *words) add(e *spoken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = make(map[string][]*spoken)
	}
	list := w.list[e.rec.Token]
	if len(list) >= maxWords {
		list = slices.Delete(list, 0, len(list)-maxWords+1)
	}
	w.list[e.rec.Token] = append(list, e)
}

// find gives copies of the responses of a token that match, the newest first. Where
// gateways share them, only those with the word are looked at. An error there is as if
// nothing was found: the chat is told to a new conversation.
func (s *Store) find(token, word string, matches func(*spoken) bool) (found []Record) {
	if s.shared == nil {
		return s.words.find(token, matches)
	}
	list, err := s.findShared(token, word)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if matches(e) {
			found = append(found, e.rec)
		}
	}
	return found
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
	Model string // as the client names it
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
	for _, rec := range s.find(p.Token, idWord(id), func(e *spoken) bool { return e.rec.ID == id && e.rec.Unstored && p.knows(e.rec) }) {
		return &rec
	}
	return nil
}

// BySaid is the response that a transcript ends with: the newest that nothing goes
// on from, else the newest. It is nil where there is none.
func (s *Store) BySaid(p Past, said chats.Digest) *Record {
	return s.newest(p, saidWord(said), func(e *spoken) bool { return slices.Contains(e.said, said) })
}

// ByBeginning is the response whose answer did not come to its end and begins with
// what was shown of it, after what was asked; chosen as in BySaid.
func (s *Store) ByBeginning(p Past, asked chats.Digest, shown string) *Record {
	begun := chats.Beginning(shown)
	if begun == "" {
		return nil
	}
	return s.newest(p, askedWord(asked), func(e *spoken) bool { return e.asked != "" && e.asked == asked && strings.HasPrefix(e.begun, begun) })
}

// newest is the newest response that matches and that nothing goes on from, else the
// newest that matches.
func (s *Store) newest(p Past, word string, matches func(*spoken) bool) *Record {
	var newest *Record
	for _, rec := range s.find(p.Token, word, func(e *spoken) bool {
		return (e.rec.Model == p.Model || e.rec.Routed == p.Model) && p.knows(e.rec) && matches(e)
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
	if s.shared != nil {
		if rec.Next != "" {
			return true
		}
		claimed, err := ask(func(ctx context.Context) (bool, error) { return s.shared.Claims.Claimed(ctx, rec.ID) })
		return claimed || err != nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return rec.Next != "" || s.claimed[rec.ID]
}

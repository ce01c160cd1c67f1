package responses

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
)

// Shared is what several gateways keep of responses.
type Shared struct {
	Files  Files
	Claims Claims
	Words  Words
}

// Claims are the places after responses, each for one request that goes on from there.
type Claims interface {
	// Claim reserves the place after a response. It is false where a gateway that lives
	// has it.
	Claim(ctx context.Context, response string) (bool, error)
	Claimed(ctx context.Context, response string) (bool, error)
	Release(ctx context.Context, response string) error
}

// Words are responses that are found by what was said up to their end.
type Words interface {
	Add(ctx context.Context, s Spoken) error
	// Find finds those of a token that have a word and are not older than a time, the
	// newest first.
	Find(ctx context.Context, token, word string, most time.Duration) ([]Spoken, error)
	// Follow notes that a response is gone on from in its conversation, and reports
	// whether there is one of this token with this word.
	Follow(ctx context.Context, token, response, word, conversation, next string) (bool, error)
	Forget(ctx context.Context, conversation string) error
	// Sweep forgets those that ended so long ago.
	Sweep(ctx context.Context, most time.Duration) error
}

// Spoken is a response as gateways find it.
type Spoken struct {
	ID, Token, Conversation string
	Words                   []string // of letters, digits and ":_-"
	Record                  []byte
	Next                    string        // the response that went on from it; for Add: empty
	Age                     time.Duration // since its end; for Add: 0
}

// storeTime bounds one question to what the gateways share.
const storeTime = 10 * time.Second

// NewShared makes the store of a gateway that shares its responses with others.
func NewShared(shared Shared) *Store {
	s := New(shared.Files)
	s.shared = &shared
	return s
}

// ask asks what the gateways share.
func ask[T any](f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return f(ctx)
}

// claimShared is Claim where other gateways may go on from the response, too.
func (s *Store) claimShared(rec *Record) (bool, error) {
	if rec.Next != "" {
		return false, nil
	}
	mine, err := ask(func(ctx context.Context) (bool, error) { return s.shared.Claims.Claim(ctx, rec.ID) })
	if err != nil || !mine {
		return false, err
	}
	next, err := s.nextOf(rec) // it may have been gone on from since it was read
	if err != nil || next != "" {
		s.Release(rec.ID)
		return false, err
	}
	return true, nil
}

// nextOf is what went on from a response, as it is now.
func (s *Store) nextOf(rec *Record) (string, error) {
	if !rec.Unstored {
		now, err := s.Load(rec.ID)
		if err != nil {
			return "", err
		}
		return now.Next, nil
	}
	found, err := s.findShared(rec.Token, idWord(rec.ID))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].rec.Next, nil
}

// sharedSpoken is a spoken response as gateways keep it.
type sharedSpoken struct {
	Record   Record         `json:"record"`
	Unstored bool           `json:"unstored,omitempty"`
	Said     []chats.Digest `json:"said,omitempty"`
	Asked    chats.Digest   `json:"asked,omitempty"`
	Begun    string         `json:"begun,omitempty"`
}

func idWord(id string) string             { return "id:" + id }
func saidWord(d chats.Digest) string      { return "said:" + string(d) }
func askedWord(asked chats.Digest) string { return "asked:" + string(asked) }

// isFinal reports whether a response with this status has ended.
func isFinal(status string) bool {
	return status != "" && status != openai.ResponseInProgress && status != openai.ResponseQueued
}

// shared is the response as gateways find it.
func (e *spoken) shared() (Spoken, error) {
	s := Spoken{ID: e.rec.ID, Token: e.rec.Token, Conversation: e.rec.Conversation}
	if e.rec.Unstored {
		s.Words = append(s.Words, idWord(e.rec.ID))
	}
	for _, d := range e.said {
		s.Words = append(s.Words, saidWord(d))
	}
	if e.asked != "" {
		s.Words = append(s.Words, askedWord(e.asked))
	}
	var err error
	s.Record, err = json.Marshal(sharedSpoken{Record: e.rec, Unstored: e.rec.Unstored, Said: e.said, Asked: e.asked, Begun: e.begun})
	return s, err
}

// addShared notes a response for all gateways.
func (s *Store) addShared(e *spoken) error {
	shared, err := e.shared()
	if err != nil {
		return err
	}
	_, err = ask(func(ctx context.Context) (struct{}, error) { return struct{}{}, s.shared.Words.Add(ctx, shared) })
	return err
}

// findShared gives the responses of a token with a word, the newest first.
func (s *Store) findShared(token, word string) (found []*spoken, err error) {
	list, err := ask(func(ctx context.Context) ([]Spoken, error) { return s.shared.Words.Find(ctx, token, word, keepWords) })
	if err != nil {
		return nil, err
	}
	now := time.Now() //nolint:forbidigo // the age is what counts
	for _, at := range list {
		var r sharedSpoken
		if json.Unmarshal(at.Record, &r) != nil {
			continue
		}
		e := &spoken{rec: r.Record, said: r.Said, asked: r.Asked, begun: r.Begun}
		e.rec.Unstored, e.rec.Next, e.rec.Ended = r.Unstored, at.Next, now.Add(-at.Age)
		found = append(found, e)
	}
	return found, nil
}

// followShared notes that an unstored response is gone on from; see words.follow.
func (s *Store) followShared(rec Record) (bool, error) {
	return ask(func(ctx context.Context) (bool, error) {
		return s.shared.Words.Follow(ctx, rec.Token, rec.Previous, idWord(rec.Previous), rec.Conversation, rec.ID)
	})
}

// SweepWords forgets what gateways share of responses that ended long ago.
func (s *Store) SweepWords(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	return s.shared.Words.Sweep(ctx, keepWords)
}

// endedElsewhere reports whether another gateway has stored the end of a response.
func (s *Store) endedElsewhere(id string) bool {
	if s.shared == nil {
		return false
	}
	rec, err := s.Load(id)
	return err == nil && isFinal(rec.Status)
}

package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// Store keeps the chats of several gateways that answer as one. Its methods may be called
// at the same time. After an error other than [ErrChanged] it is unknown what it has.
type Store interface {
	// Load returns the record of a chat with its revision: nil and 0 where there is none,
	// and nil with a revision where that is have.
	Load(ctx context.Context, key string, have int64) (record []byte, rev int64, err error)
	// Save stores a record in place of the one with this revision, and returns the revision of
	// the new one. Where the chat has another revision, it is ErrChanged.
	Save(ctx context.Context, key string, record []byte, rev int64) (now int64, err error)
	// Self names this gateway, as no other one and no earlier one.
	Self() string
	// Alive reports whether a gateway may still have a run in a conversation of a chat:
	// it lives, and the run has not ended, or the chat was saved a moment ago.
	Alive(ctx context.Context, gateway, key, conversation string) (bool, error)

	// AddLoose keeps something for a time, and FindLoose finds what has one of the words,
	// the newest first. TakeLoose takes it out; false: another gateway has.
	AddLoose(ctx context.Context, place string, words []string, record []byte, keep time.Duration) error
	FindLoose(ctx context.Context, place string, words []string) ([]Loose, error)
	TakeLoose(ctx context.Context, id int64) (bool, error)

	// Sweep forgets chats that were not saved for so long, and what is over of the rest.
	Sweep(ctx context.Context, unused time.Duration) error
}

// Loose is a conversation without a chat, as a Store has it.
type Loose struct {
	ID     int64
	Record []byte
}

// ErrChanged says that another gateway has changed the chat meanwhile: what was decided
// has to be decided again.
var ErrChanged = errors.New("another request has changed the chat")

// peer is a chat that gateways share, as one of them has it. The chat's mutex guards it.
type peer struct {
	rev     int64             // of what is in memory
	stored  []byte            // what this gateway has stored as that; nil: it has not
	drafts  map[string]*draft // of this gateway's turns, by visit
	pending []func() *branch  // changes that are not stored yet
}

// sharedTurn is a turn as gateways share it.
type sharedTurn struct {
	Turn

	Visit   string `json:"v,omitempty"` // whose turn it is
	Gateway string `json:"g,omitempty"` // that has the run; empty: it is over
	Waits   bool   `json:"w,omitempty"` // the run has not begun, and may never
	Asked   bool   `json:"k,omitempty"` // System and Tools are known
	System  Digest `json:"y,omitempty"`
	Tools   bool   `json:"l,omitempty"`
}

type sharedBranch struct {
	Conversation string       `json:"conversation_id"`
	Workspace    string       `json:"workspace,omitempty"`
	Used         time.Time    `json:"used"`
	Turns        []sharedTurn `json:"turns"`
}

// sharedRecord is a chat as gateways share it.
type sharedRecord struct {
	Version  int            `json:"version"`
	Whole    bool           `json:"whole,omitempty"`
	Branches []sharedBranch `json:"branches"`
	Gone     []Digest       `json:"gone,omitempty"`
}

// encode returns the chat for the other gateways.
func (c *chat) encode() ([]byte, error) {
	r := sharedRecord{Version: recordVersion, Whole: c.Whole, Gone: c.Gone}
	for _, b := range c.Branches {
		s := sharedBranch{Conversation: b.Conversation, Workspace: b.Workspace, Used: b.Used, Turns: make([]sharedTurn, len(b.Turns))}
		for i, t := range b.Turns {
			s.Turns[i] = sharedTurn{Turn: t, Visit: t.visit, Gateway: t.gateway, Waits: t.waits}
			if t.asked.known && (i == len(b.Turns)-1 || t.gateway != "") { // of the others it is not asked
				s.Turns[i].Asked, s.Turns[i].System, s.Turns[i].Tools = true, t.asked.system, t.asked.tools
			}
		}
		r.Branches = append(r.Branches, s)
	}
	return plainjson.Marshal(r)
}

// decode takes a record of the store into memory, where it meets what only this gateway
// knows: the answers that it shows.
func (c *chat) decode(data []byte) error {
	var r sharedRecord
	if data != nil {
		if err := json.Unmarshal(data, &r); err != nil || r.Version != recordVersion {
			return fmt.Errorf("read chat %s: not a chat of this version", c.key[:8])
		}
	}
	c.record = record{Whole: r.Whole, Gone: r.Gone}
	c.underway = nil
	for _, s := range r.Branches {
		b := &branch{Conversation: s.Conversation, Workspace: s.Workspace, Used: s.Used, Turns: make([]Turn, len(s.Turns))}
		for i, st := range s.Turns {
			t := st.Turn
			t.visit, t.gateway, t.waits, t.draft = st.Visit, st.Gateway, st.Waits, c.drafts[st.Visit]
			t.asked = manner{known: st.Asked, system: st.System, tools: st.Tools}
			if t.gateway != "" {
				c.underway = append(c.underway, underway{conversation: b.Conversation, draft: t.draft, visit: t.visit, system: t.asked.system, tools: t.asked.tools})
			}
			b.Turns[i] = t
		}
		c.Branches = append(c.Branches, b)
	}
	return nil
}

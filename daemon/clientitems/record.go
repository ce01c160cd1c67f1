// Package clientitems keeps what clients add to conversations through OpenAI's
// Conversations API: metadata, and items beside those of the agent.
//
// A conversation with such things has one file, named after its id. It is read
// when it is needed, and grows by a line with each change: nothing is read at the
// start and nothing is kept in memory. A line that a crash cut off does not count,
// and its change was never confirmed. A file that a newer ohgw wrote is left
// alone.
//
// The package knows neither HTTP nor agents: what an item means is for the caller
// to say.
package clientitems

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// Record is what clients have added to a conversation.
type Record struct {
	ID      string    `json:"id"` // a UUID
	Created time.Time `json:"created"`
	// Made says that the conversation was created here, before an agent had it.
	Made bool `json:"made,omitempty"`
	// Used says that an agent has it.
	Used bool `json:"used,omitempty"`

	Metadata map[string]string `json:"metadata,omitempty"`
	// Items are those of clients in the order in which they were added.
	Items []Item `json:"-"`
	// Hidden are the items of the agent that clients have deleted, and Again those
	// that clients have added once more, by id.
	Hidden map[string]bool `json:"-"`
	Again  map[string]bool `json:"-"`
}

// Item is an item that a client added.
type Item struct {
	ID   string          `json:"id"`
	Data json.RawMessage `json:"data"` // the item as it is listed
	// After is the item of the agent, by its event, that was the last one when this
	// one was added; empty: none. AfterAll is the same among all that the agent did.
	After    string `json:"after,omitempty"`
	AfterAll string `json:"after_all,omitempty"`
	// Told says that the agent has read it.
	Told bool `json:"told,omitempty"`
	// Taken says that the message of a run has taken its place in the lists.
	Taken bool `json:"taken,omitempty"`
}

// Change is a change of a record. What is zero stays as it is. All lists are of
// ids.
type Change struct {
	Metadata *map[string]string `json:"metadata,omitempty"`
	Used     bool               `json:"used,omitempty"`
	Add      []Item             `json:"add,omitempty"`
	Delete   []string           `json:"delete,omitempty"` // items of clients
	Hide     []string           `json:"hide,omitempty"`   // items of the agent
	Show     []string           `json:"show,omitempty"`   // again what was hidden
	Again    []string           `json:"again,omitempty"`  // see [Record]
	Told     []string           `json:"told,omitempty"`
	Taken    []string           `json:"taken,omitempty"`
	Untold   []string           `json:"untold,omitempty"` // takes Told and Taken back
}

const (
	version = 1
	// MaxItems and maxBytes bound what clients may add to one conversation.
	MaxItems = 10_000
	maxBytes = 16 << 20
)

// Errors of the store.
var (
	ErrNotFound = errors.New("no client has added anything to the conversation")
	ErrNewer    = errors.New("written by a newer ohgw")
	ErrDamaged  = errors.New("the file of the conversation's items is damaged")
	ErrFull     = errors.New("the conversation has too many items of clients")
)

// Item is the item of a client with this id; nil: there is none.
func (r *Record) Item(id string) *Item {
	i := slices.IndexFunc(r.Items, func(i Item) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Items[i]
}

// empty reports whether a change changes nothing.
func (c *Change) empty() bool {
	return c.Metadata == nil && !c.Used && len(c.Add)+len(c.Delete)+len(c.Hide)+len(c.Show)+len(c.Again)+len(c.Told)+len(c.Taken)+len(c.Untold) == 0
}

// apply makes a change.
func (r *Record) apply(c Change) {
	if c.Metadata != nil {
		r.Metadata = *c.Metadata
	}
	r.Used = r.Used || c.Used
	r.Items = append(r.Items, c.Add...)
	if len(c.Delete) > 0 {
		gone := set(nil, c.Delete)
		r.Items = slices.DeleteFunc(r.Items, func(i Item) bool { return gone[i.ID] })
	}
	r.Hidden = set(r.Hidden, c.Hide)
	for _, id := range c.Show {
		delete(r.Hidden, id)
	}
	r.Again = set(r.Again, c.Again)
	r.mark(c.Told, func(i *Item) { i.Told = true })
	r.mark(c.Taken, func(i *Item) { i.Taken = true })
	r.mark(c.Untold, func(i *Item) { i.Told, i.Taken = false, false })
}

func (r *Record) mark(ids []string, f func(*Item)) {
	if len(ids) == 0 {
		return
	}
	marked := set(nil, ids)
	for i := range r.Items {
		if marked[r.Items[i].ID] {
			f(&r.Items[i])
		}
	}
}

func set(to map[string]bool, ids []string) map[string]bool {
	if to == nil {
		to = make(map[string]bool, len(ids))
	}
	for _, id := range ids {
		to[id] = true
	}
	return to
}

// full reports whether a record has more than a conversation may have.
func (r *Record) full() bool {
	return len(r.Items) > MaxItems || r.size() > maxBytes
}

// size is about how many bytes a record has that count.
func (r *Record) size() int {
	const fields = 128
	size := fields * (len(r.Hidden) + len(r.Again))
	for _, i := range r.Items {
		size += fields + len(i.Data)
	}
	return size
}

// header is the first line of a file.
type header struct {
	Version int `json:"version"`
	*Record
}

// encode is a whole record as the content of a file.
func (r *Record) encode() ([]byte, error) {
	first, err := json.Marshal(header{version, r})
	if err != nil {
		return nil, err
	}
	first = append(first, '\n')
	c := Change{Add: r.Items, Hide: keys(r.Hidden), Again: keys(r.Again)}
	if c.empty() {
		return first, nil
	}
	line, err := json.Marshal(c)
	return append(append(first, line...), '\n'), err
}

func keys(m map[string]bool) []string {
	ids := make([]string, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// decode reads the content of a file.
func decode(id string, data []byte) (*Record, error) {
	first, changes := recordfile.Lines(data)
	h := header{Record: &Record{}}
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if h.Version > version {
		return nil, ErrNewer
	}
	if h.Version != version || h.ID != id {
		return nil, ErrDamaged
	}
	for line := range changes {
		var c Change
		if json.Unmarshal(line, &c) == nil { // else it was cut off
			h.apply(c)
		}
	}
	return h.Record, nil
}

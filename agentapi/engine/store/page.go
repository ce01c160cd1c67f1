package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Beyond is how many events are on the disk behind one that is missing. No page has
// them.
func Beyond(root, id string) (int, error) {
	files, err := (&Dir{path: Path(root, id)}).eventFiles()
	if err != nil {
		return 0, err
	}
	_, beyond := contiguous(files, 0)
	return len(beyond), nil
}

// Page reads n events of the log of a conversation from the one with the id from
// on, or with newest towards the beginning; "" is the first, or the last. next is
// the id of the event behind the page, "" at the end. The conversation may be
// open anywhere: an event that has its name is whole, or is left out like every
// other that cannot be read.
func Page(root, id, from string, newest bool, n int) (events []event.Event, next string, err error) {
	if !Exists(root, id) {
		return nil, "", ErrNotFound
	}
	d := &Dir{path: Path(root, id)}
	files, err := d.eventFiles()
	if err != nil {
		return nil, "", err
	}
	files, _ = contiguous(files, 0)
	if newest {
		slices.Reverse(files)
	}
	if from != "" {
		at := slices.IndexFunc(files, func(f eventFile) bool { return f.id() == from })
		if at < 0 {
			return nil, "", fmt.Errorf("%w: %s", ErrNoEvent, from)
		}
		files = files[at:]
	}
	if len(files) > n {
		next = files[n].id()
		files = files[:n]
	}
	read, errs := readAll(d.eventsDir(), files)
	for i, e := range read {
		if errs[i] == nil {
			events = append(events, e)
		}
	}
	return events, next, nil
}

// id is the id of the event in the file.
func (f eventFile) id() string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(f.name, "event-"), "-")
	return strings.TrimSuffix(rest, ".json")
}

// Description is what meta.json says of a conversation.
type Description struct {
	Created time.Time // zero if it is not known
	Updated time.Time // the same
	Title   string
	Tags    map[string]string
}

// Describe reads meta.json of a conversation that may be open anywhere. One
// that only an SDK has written has none, and is described by nothing.
func Describe(root, id string) (Description, error) {
	if !Exists(root, id) {
		return Description{}, ErrNotFound
	}
	meta, err := PeekMeta(root, id)
	return meta.Description(), err
}

// RawMeta is meta.json by the names of its members; nil where there is none.
type RawMeta map[string]json.RawMessage

// Only are the members with these names that there are.
func (m RawMeta) Only(names ...string) map[string]json.RawMessage {
	found := make(map[string]json.RawMessage)
	for _, name := range names {
		if value, ok := m[name]; ok {
			found[name] = value
		}
	}
	return found
}

// PeekMeta reads meta.json of a conversation that may be open anywhere.
func PeekMeta(root, id string) (RawMeta, error) {
	data, err := os.ReadFile(filepath.Join(Path(root, id), metaFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe conversation: %w", err)
	}
	var meta RawMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, &DamageError{File: metaFile, Err: err}
	}
	return meta, nil
}

// Description is what the file says of the conversation; what it does not say is
// zero.
func (m RawMeta) Description() (d Description) {
	_ = json.Unmarshal(m["title"], &d.Title) // of another type: there is none
	_ = json.Unmarshal(m["tags"], &d.Tags)
	return Description{Created: m.time("created_at"), Updated: m.time("updated_at"), Title: d.Title, Tags: d.Tags}
}

// ForkedFrom is the conversation that this one is a copy of; "" for none.
func (m RawMeta) ForkedFrom() (id string) {
	_ = json.Unmarshal(m["forked_from_conversation_id"], &id) // of another type: there is none
	return id
}

func (m RawMeta) time(name string) time.Time {
	var text string
	_ = json.Unmarshal(m[name], &text)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil { // of another writer: without a zone
		at, _ = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	return at
}

// Peek reads base_state.json of a conversation that may be open anywhere.
func Peek(root, id string) (State, error) {
	if !Exists(root, id) {
		return State{}, ErrNotFound
	}
	return readState(filepath.Join(Path(root, id), stateFile))
}

package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unique"

	"github.com/ohgw/ohgw/agentapi/event"
)

// entry is what is kept in memory of an event: enough to find it and its place in the tree.
// The event itself is read again when a caller asks for it.
type entry struct {
	id, parent string
	name       string       // of its file in the directory events
	state      bool         // it is a state update
	failure    bool         // it is an error of the run
	status     event.Status // that it announces, if any
	// kind, source and at, its timestamp, are empty for one that was not read.
	kind, source, at string
}

// add takes an event into the index that is stored as name.
func (d *Dir) add(e event.Event, name string) {
	if _, dup := d.index[e.ID]; !dup {
		d.index[e.ID] = len(d.log)
	}
	status, _ := e.StatusUpdate()
	_, state := e.Body.(*event.StateUpdate)
	_, failure := e.Body.(*event.ConversationError)
	d.log = append(d.log, entry{id: e.ID, parent: e.ParentID, name: name, state: state, failure: failure, status: status, kind: shared(e.Kind()), source: shared(e.Source), at: strings.Clone(e.Timestamp)})
}

// shared is a string that is in memory once, however many events have it.
func shared(s string) string { return unique.Make(s).Value() }

// Len is the number of events of the log.
func (d *Dir) Len() int { return len(d.log) }

// Has reports whether the log has an event with that id.
func (d *Dir) Has(id string) bool {
	_, ok := d.index[id]
	return ok
}

// Events is the log in its order. The caller must not change it.
func (d *Dir) Events() ([]event.Event, error) {
	all := make([]int, len(d.log))
	for i := range all {
		all[i] = i
	}
	return d.events(all)
}

// events reads those at the indexes.
func (d *Dir) events(at []int) ([]event.Event, error) {
	if len(d.loaded) == len(d.log) {
		events := make([]event.Event, len(at))
		for k, i := range at {
			events[k] = d.loaded[i]
		}
		return events, nil
	}
	files := make([]eventFile, len(at))
	for k, i := range at {
		files[k].name = d.log[i].name
	}
	events, errs := readAll(d.eventsDir(), files)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return events, nil
}

// Release lets the events go that were read when the directory was opened.
func (d *Dir) Release() { d.loaded = nil }

// Log is a log from some event up to one that was the last when it was asked
// for. It may be read by anybody at any time, as long as the files are there.
type Log struct {
	dir     string
	entries []entry
	heads   *heads // what the entries do not say; nil: they say it
	beyond  int
}

// From is the log from index i on.
func (d *Dir) From(i int) Log {
	return Log{dir: d.eventsDir(), entries: slices.Clip(d.log[i:]), beyond: len(d.beyond)}
}

// After is the log behind the event with an id. It is false for an event that
// is not there.
func (d *Dir) After(id string) (Log, bool) {
	i, ok := d.index[id]
	if !ok {
		return Log{}, false
	}
	return d.From(i + 1), true
}

// Next reads the first event, and gives the log behind it. It is false at the
// end.
func (l Log) Next() (e event.Event, rest Log, ok bool, err error) {
	if len(l.entries) == 0 {
		return event.Event{}, l, false, nil
	}
	e, _, err = readEvent(filepath.Join(l.dir, l.entries[0].name), nil)
	if err != nil {
		return event.Event{}, l, false, fmt.Errorf("read the log: %w", err)
	}
	return e, Log{dir: l.dir, entries: l.entries[1:]}, true, nil
}

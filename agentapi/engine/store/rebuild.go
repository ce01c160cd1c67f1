package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/agentapi/event"
)

// errTorn says that a file is not JSON: it was written, and had not reached the
// disk when the machine died.
var errTorn = errors.New("the file is incomplete")

// rebuildState makes the base state again from meta.json and the log, and sets
// the damaged file aside. The state has no agent: the caller of [Open] makes
// that again, and saves the state.
func (d *Dir) rebuildState(id string, cause error) error {
	s, err := d.stateOfMeta(id)
	if err != nil {
		return errors.Join(cause, err)
	}
	for _, e := range d.loaded {
		s.Learn(e)
	}
	path := filepath.Join(d.path, stateFile)
	// A copy, not another name: without its base state the conversation is not found.
	// The copy may be gone after another crash; nothing depends on it.
	if err := copyFile(path+damagedSuffix, path); err != nil {
		return fmt.Errorf("set %s aside: %w", stateFile, err)
	}
	d.State = s
	return nil
}

// stateOfMeta rebuilds the state of a conversation that has just begun, as meta.json
// repeats it.
func (d *Dir) stateOfMeta(id string) (State, error) {
	data, err := os.ReadFile(filepath.Join(d.path, metaFile))
	if err != nil {
		return State{}, fmt.Errorf("read %s: %w", metaFile, err)
	}
	s := NewState(id, nil, "")
	meta := struct {
		Workspace *event.Workspace   `json:"workspace"`
		Tags      *map[string]string `json:"tags"`
		Policy    *json.RawMessage   `json:"confirmation_policy"`
		Analyzer  *json.RawMessage   `json:"security_analyzer"`
		Steps     *int               `json:"max_iterations"`
		Stuck     *bool              `json:"stuck_detection"`
	}{&s.Workspace, &s.Tags, &s.ConfirmationPolicy, &s.SecurityAnalyzer, &s.MaxIterations, &s.StuckDetection}
	if err := json.Unmarshal(data, &meta); err != nil {
		return State{}, &DamageError{File: metaFile, Err: err}
	}
	if s.Workspace.WorkingDir == "" {
		return State{}, &DamageError{File: metaFile, Err: errors.New("it has no workspace")}
	}
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	if string(s.SecurityAnalyzer) == "null" {
		s.SecurityAnalyzer = nil
	}
	s.PersistenceDir = d.path
	return s, nil
}

// Learn takes from an event what it says about the state.
func (s *State) Learn(e event.Event) {
	switch b := e.Body.(type) {
	case *event.Message:
		if e.Source == event.SourceUser {
			s.LastUserMessageID = e.ID
		}
	case *event.StateUpdate:
		// What cannot be read stays as it was.
		switch b.Key {
		case event.KeyStatus:
			_ = json.Unmarshal(b.Value, &s.Status)
		case "activated_knowledge_skills":
			_ = json.Unmarshal(b.Value, &s.ActivatedSkills)
		case "activated_path_rules":
			_ = json.Unmarshal(b.Value, &s.ActivatedPathRules)
		case "stats":
			var stats struct {
				Metrics map[string]json.RawMessage `json:"usage_to_metrics"`
			}
			if json.Unmarshal(b.Value, &stats) == nil && stats.Metrics != nil {
				s.Stats = slices.Clone(b.Value)
			}
		}
	}
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, fileMode)
}

// created is when the conversation began, as far as its log tells; else now.
func (d *Dir) created(now time.Time) time.Time {
	if len(d.loaded) > 0 {
		if at, err := time.ParseInLocation("2006-01-02T15:04:05.999999", d.loaded[0].Timestamp, time.Local); err == nil {
			return at
		}
	}
	return now
}

// readMeta reads meta.json. Without a file, or with a damaged one, it makes it
// again from the state and the log.
func (d *Dir) readMeta(now time.Time) error {
	path := filepath.Join(d.path, metaFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read %s: %w", metaFile, err)
	case json.Unmarshal(data, &d.meta) == nil && d.meta != nil:
		return nil
	default:
		d.meta = nil
		if err := copyFile(path+damagedSuffix, path); err != nil {
			return fmt.Errorf("set %s aside: %w", metaFile, err)
		}
	}
	return d.SaveMeta(Meta{Created: d.created(now), Updated: now})
}

// Restorer returns what makes the files of events that a journal has and the disk has lost. A
// conversation that was removed stays so. A [*HeldError] means that another process has it.
//
// Where another program has gone on behind the last event that the disk had, the log is its:
// what the journal has from there on is in no log any more.
func Restorer(root string, opts Options) func(conversation string, records []journal.Record) error {
	opts = opts.withDefaults()
	return func(conversation string, records []journal.Record) error {
		dir := filepath.Join(root, filepath.FromSlash(conversation))
		if !exists(filepath.Join(dir, stateFile)) {
			return nil
		}
		lost, err := lostOf(dir, records)
		if err != nil || len(lost) == 0 {
			return err
		}
		lease, err := claim(dir, opts)
		if err != nil {
			return err
		}
		if lost, err = lostOf(dir, records); err == nil { // now that no other process writes
			err = putBack(dir, lost, opts.Files)
		}
		return errors.Join(err, lease.release())
	}
}

// lostOf returns the records whose files are not there, or damaged.
func lostOf(dir string, records []journal.Record) (lost []journal.Record, err error) {
	names, err := readNames(filepath.Join(dir, "events"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list events: %w", err)
	}
	at := make(map[int]string, len(names))
	for _, name := range names {
		if i, ok := eventIndex(name); ok {
			at[i] = name
		}
	}
	buf := make([]byte, 0, readBuffer)
	for _, r := range records {
		i, ok := eventIndex(r.Event)
		if !ok {
			return nil, fmt.Errorf("%w: the journal names an event %q", ErrCorrupt, r.Event)
		}
		name, taken := at[i]
		if taken && name != r.Event {
			break
		}
		if taken {
			if _, buf, err = readEvent(filepath.Join(dir, "events", name), buf); err == nil {
				continue
			}
		}
		if taken && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		lost = append(lost, r)
	}
	return lost, nil
}

// putBack writes files of events, and waits for the disk.
func putBack(dir string, lost []journal.Record, files Files) error {
	events := filepath.Join(dir, "events")
	err := files.MkdirAll(events)
	paths := []string{dir, events}
	for _, r := range lost {
		path := filepath.Join(events, r.Event)
		if err == nil {
			err = files.Write(path, r.Data, false)
		}
		paths = append(paths, path)
	}
	if err == nil {
		err = files.Sync(paths)
	}
	if err != nil {
		return fmt.Errorf("restore events: %w", err)
	}
	return nil
}

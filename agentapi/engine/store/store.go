// Package store is a conversation on disk, in the directory that OpenHands
// makes for it: its Python SDK and agent-server open what this package wrote,
// and the other way round.
//
//	<root>/<id in 32 hex digits>/
//	    base_state.json                  everything that is not an event
//	    meta.json                        what the agent-server lists
//	    events/event-00000-<id>.json     one event each, no gap
//	    events/.eventlog.lock            held while events are written
//	    events/.eventlog-len-N.marker    that the log has N events; see markers.go
//	    owner_lease.json                 whose conversation it is now
//	    .ohgw-partial                    the events of another one are being copied here
//	    .ohgw-unkept                     a machine that dies may lose it; see unkept.go
//
// Every file comes in one step, under a temporary name of ours at first; the lease is written
// over, in one step as well. An
// event that [Dir.Append] has taken is on the disk, unless the conversation is
// [Unkept]; the base state may lag behind it, never ahead. Fields and event kinds that are not known here are
// kept. What a machine that died has left of a file that had not reached the
// disk is set aside as NAME.damaged.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/filelock"
)

// What can be wrong with a directory.
var (
	// ErrNotFound: there is no such conversation.
	ErrNotFound = errors.New("no such conversation")
	// ErrExists: there is one already.
	ErrExists = errors.New("the conversation exists already")
	// ErrCorrupt: a file does not hold what it should.
	ErrCorrupt = errors.New("the conversation's files are damaged")
)

// DamageError is ErrCorrupt with the file that is damaged.
type DamageError struct {
	// File is the name of the file, below the directory of the conversation.
	File string
	// Follows is how many events follow it in the log.
	Follows int
	Err     error
}

// Error names the file.
func (e *DamageError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// Is reports that the conversation's files are damaged.
func (e *DamageError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// damagedSuffix is what a damaged file is set aside with.
const damagedSuffix = ".damaged"

// Options are what a directory needs of the world.
type Options struct {
	Files Files // nil: the real disk
	// Unkept is given to a conversation that is not kept yet, or does not have to be. Nil: it
	// is kept, also one that was not until now.
	Unkept *Unkept
	// Journal puts events on the disk; nil: [Files.Sync] puts their files there.
	Journal *journal.Journal
	Now     func() time.Time
	Holder  Holder
}

// Dir is an open conversation. It is not safe for concurrent use: its
// conversation's goroutine has it.
type Dir struct {
	path   string
	opts   Options
	lease  *lease
	State  State
	log    []entry
	index  map[string]int             // of events by id
	loaded []event.Event              // the log as it was read, until it is released
	beyond []eventFile                // on the disk, behind a gap
	cutOff int                        // how many they were when the log was read
	lock   *filelock.Kept             // of the log, once something was appended
	meta   map[string]json.RawMessage // meta.json, once it was looked at
	twins  twins                      // how the base state and meta.json are written
	locked bool                       // we hold lock
	// foreign are events of other writers that were not passed on yet.
	foreign []event.Event
	marker  marker
	// unsynced are files and directories that may not be on the disk yet.
	unsynced unsyncedFiles
}

// unsyncedFiles are files and directories that may not be on the disk yet.
type unsyncedFiles []unsynced

type unsynced struct {
	path string
	data []byte // of an event that was written here; nil: the file has it
}

func (files unsyncedFiles) paths() []string {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	return paths
}

// journal puts the files of a conversation into the journal, and reports whether it has them: it
// has events that were written here. The caller waits for the files otherwise.
func (files unsyncedFiles) journal(dir string, opts Options) bool {
	conversation, ok := opts.Journal.Name(dir)
	if !ok || opts.Unkept.passes() {
		return false
	}
	records := make([]journal.Record, len(files))
	for i, f := range files {
		if f.data == nil {
			return false
		}
		records[i] = journal.Record{Conversation: conversation, Event: filepath.Base(f.path), Data: f.data}
	}
	return opts.Journal.Keep(records...) == nil
}

// Path is the directory of conversation id below root.
func Path(root, id string) string {
	return filepath.Join(root, strings.ReplaceAll(id, "-", ""))
}

// Create makes the directory of a new conversation, which begins with events of another one
// or with none. The base state is written last: a directory without it does not count as a
// conversation, and is replaced if a process died in Create there. Other events without a
// base state are left as they are, and Create returns a [*DamageError].
func Create(root string, state State, meta Meta, opts Options, events ...event.Event) (*Dir, error) {
	opts = opts.withDefaults()
	d := &Dir{path: Path(root, state.ID), opts: opts, State: state, index: make(map[string]int)}
	if err := opts.Files.MkdirAll(root); err != nil {
		return nil, fmt.Errorf("create the conversations directory: %w", err)
	}
	if err := d.makeOwn(root); err != nil {
		return nil, err
	}
	d.State.PersistenceDir = d.path
	err := errors.Join(opts.Journal.Forget(d.path), opts.unkept(d.path))
	if err == nil {
		err = errors.Join(opts.Files.Mkdir(d.eventsDir()), meta.begin(d))
	}
	if err == nil {
		err = d.begin(events)
	}
	// The first message takes all of it to the disk, which the caller waits for. The
	// root comes first: others change it, too, and whoever asks for it last
	// waits for their commit.
	d.twins = twins{}
	if err == nil {
		err = d.SaveState(false)
	}
	if err == nil && len(events) > 0 {
		err = d.whole()
	}
	d.unsynced = append(unsyncedFiles{{path: root}, {path: filepath.Join(d.path, metaFile)}, {path: filepath.Join(d.path, stateFile)}, {path: d.path}}, d.unsynced...)
	d.twins = twins{}
	if err == nil && len(events) > 0 {
		err = opts.Files.Sync(d.unsynced.paths())
		d.unsynced = nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create conversation: %w", err), os.RemoveAll(d.path))
	}
	return d, nil
}

// Open opens the directory of conversation id. It returns ErrNotFound, a [*HeldError] while
// another process has it, or ErrCorrupt with what is wrong.
func Open(root, id string, opts Options) (*Dir, error) {
	opts = opts.withDefaults()
	d := &Dir{path: Path(root, id), opts: opts}
	if _, err := os.Stat(filepath.Join(d.path, stateFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNotFound
		}
		return nil, fmt.Errorf("open conversation: %w", err)
	}
	if err := opts.Journal.Restored(d.path); err != nil {
		return nil, err
	}
	lease, err := claim(d.path, opts)
	if err != nil {
		return nil, err
	}
	d.lease = lease
	if err := errors.Join(d.whole(), opts.resume(d.path), d.load(id)); err != nil {
		return nil, errors.Join(err, d.lease.release())
	}
	// A process that was killed in a one-shot has left no meta.json. It comes before the next
	// base state, which can be made again from it. A conversation opens without it, too.
	_ = d.Meta()
	return d, nil
}

func (d *Dir) load(id string) error {
	if err := d.loadEvents(); err != nil {
		return err
	}
	state, err := readState(filepath.Join(d.path, stateFile))
	if errors.Is(err, errTorn) {
		return d.rebuildState(id, err)
	}
	if err != nil {
		return err
	}
	if state.ID != id {
		return &DamageError{File: stateFile, Err: fmt.Errorf("it belongs to conversation %q", state.ID)}
	}
	d.State = state
	return nil
}

// Path is the conversation's directory.
func (d *Dir) Path() string { return d.path }

func (d *Dir) eventsDir() string { return filepath.Join(d.path, "events") }

// KeepLease renews the lease; call it every LeaseRenewal while the directory is open. A
// [*HeldError] means that another process has taken the conversation.
func (d *Dir) KeepLease() error { return d.lease.renew() }

// Close lets the conversation go.
func (d *Dir) Close() error {
	err := d.unlock()
	if d.opts.Unkept != nil {
		err = errors.Join(err, d.opts.Unkept.finish())
	}
	return errors.Join(err, d.lease.release())
}

func (d *Dir) unlock() error {
	if d.lock == nil {
		return nil
	}
	d.Rest()
	return d.lock.Close()
}

// Remove deletes the conversation.
func (d *Dir) Remove() error {
	if err := d.unlock(); err != nil {
		return fmt.Errorf("remove conversation: %w", err)
	}
	// Half a removal must not look like a conversation that has lost its base state.
	// There may be no events.
	_ = os.Rename(d.eventsDir(), filepath.Join(d.path, removedEvents))
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove conversation: %w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Files == nil {
		o.Files = Disk{}
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if o.Unkept != nil {
		o.Unkept.files, o.Files = o.Files, o.Unkept
	}
	return o
}

// unkept notes in the directory of a new conversation that it is not kept, if it is not.
func (o Options) unkept(dir string) error {
	if o.Unkept == nil {
		return nil
	}
	return o.Unkept.begin(dir)
}

// resume takes over the directory of a conversation, which is kept from now on unless the
// options say otherwise.
func (o Options) resume(dir string) error {
	if o.Unkept != nil {
		return o.Unkept.resume(dir)
	}
	u := &Unkept{files: o.Files}
	if err := u.resume(dir); err != nil {
		return err
	}
	return u.Keep()
}

// Exists reports whether there is a conversation with that id.
func Exists(root, id string) bool {
	_, err := os.Stat(filepath.Join(Path(root, id), stateFile))
	return err == nil
}

// Remove deletes a conversation that is not open here, damaged ones too. It returns
// ErrNotFound, or a [*HeldError] while a process has the conversation. If a process died
// while it made or removed the conversation, Remove deletes the rest, and returns
// ErrNotFound, too.
func Remove(root, id string, opts Options) error {
	d := &Dir{path: Path(root, id), opts: opts.withDefaults()}
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	whole := Exists(root, id)
	if _, err := claim(d.path, d.opts); err != nil {
		return err
	}
	if err := d.Remove(); err != nil || whole {
		return err
	}
	return ErrNotFound
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi/event"
)

// eventIndex is the index in the name of an event's file: five or more digits, and an
// id of at least eight hex digits and hyphens.
func eventIndex(name string) (int, bool) {
	name, ok := strings.CutPrefix(name, "event-")
	digits, rest, _ := strings.Cut(name, "-")
	id, isJSON := strings.CutSuffix(rest, ".json")
	if !ok || !isJSON || len(digits) < 5 || len(id) < 8 || strings.Trim(digits, "0123456789") != "" || strings.Trim(id, "0123456789abcdefABCDEF-") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil
}

// Root is the parent of an event that begins a branch of its own anywhere but
// at the beginning of the log.
const Root = "__root__"

type eventFile struct {
	index   int
	name    string
	damaged bool // it holds no event
}

// eventFiles lists the events' files in the order of their indexes.
func (d *Dir) eventFiles() ([]eventFile, error) {
	entries, err := os.ReadDir(d.eventsDir())
	if errors.Is(err, fs.ErrNotExist) { // The machine died before the first event was on the disk.
		err = d.opts.Files.Mkdir(d.eventsDir())
	}
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	files := make([]eventFile, 0, len(entries))
	for _, e := range entries {
		if i, ok := eventIndex(e.Name()); ok {
			files = append(files, eventFile{index: i, name: e.Name()})
		}
	}
	slices.SortFunc(files, byIndex)
	return files, nil
}

// loadEvents reads the log up to its first gap, without a damaged tail. What
// lies beyond stays on the disk and is not part of the conversation, as for
// OpenHands.
func (d *Dir) loadEvents() error {
	files, err := d.eventFiles()
	if err != nil {
		return err
	}
	files, d.beyond = contiguous(files, 0)
	d.cutOff = len(d.beyond)
	events, errs := readAll(d.eventsDir(), files)
	whole, err := d.damagedTail(files, events, errs)
	if err != nil {
		return err
	}
	d.loaded = events[:whole:whole]
	d.log, d.index = make([]entry, 0, whole), make(map[string]int, whole)
	for i, e := range d.loaded {
		d.add(e, files[i].name)
	}
	d.doubtTail()
	return nil
}

// doubtTail has the next event take the end of the log to the disk: the state
// updates there, and one event before them. Whoever wrote them may not have
// waited for the disk, and an event must not outlive one that it comes after.
func (d *Dir) doubtTail() {
	for i := len(d.log) - 1; i >= 0; i-- {
		d.unsynced = append(d.unsynced, unsynced{path: filepath.Join(d.path, "events", d.log[i].name)})
		if _, state := d.loaded[i].Body.(*event.StateUpdate); !state {
			return
		}
	}
}

// contiguous is the files from an index up to the first gap, one for each index,
// and those beyond. Of an index that is there twice the first file counts.
func contiguous(files []eventFile, from int) (log, beyond []eventFile) {
	for i, f := range files {
		if f.index > from+len(log) {
			return log, files[i:]
		}
		if f.index == from+len(log) {
			log = append(log, f)
		}
	}
	return log, nil
}

// damagedTail counts the events before the first file that holds no event. A
// machine that died leaves such files at the end of the log: they were written
// and had not reached the disk. Where more follows than a loss of power explains
// (see [tail]), the damage has another cause, and nothing is set aside.
func (d *Dir) damagedTail(files []eventFile, events []event.Event, errs []error) (whole int, err error) {
	first := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if first < 0 {
		return len(events), nil
	}
	if !errors.Is(errs[first], ErrCorrupt) {
		return 0, errs[first]
	}
	t := tail{files: make([]eventFile, 0, len(files)-first)}
	for i, f := range files[first:] {
		if f.damaged = errs[first+i] != nil; f.damaged && !errors.Is(errs[first+i], ErrCorrupt) {
			return 0, errs[first+i]
		}
		if !t.add(f, events[first+i]) {
			return 0, &DamageError{File: "events/" + files[first].name, Follows: len(files) - first - 1, Err: errs[first]}
		}
	}
	d.beyond = append(t.files, d.beyond...)
	return first, nil
}

// tail is what lies behind the last event of a log that is whole.
type tail struct {
	files []eventFile
	taken bool // there is the event that was to take the others to the disk
}

// add adds a file, and reports whether a loss of power may have left it. State updates and the
// system prompt are written without waiting for the disk. The event that takes them along may
// be there without them: no client has got it as stored, and nothing comes after it but state
// updates. It is not the child of a damaged event but of the system prompt, which begins the
// log: all others are on the disk before one is appended to them.
func (t *tail) add(f eventFile, e event.Event) bool {
	_, update := e.Body.(*event.StateUpdate)
	if !f.damaged && !update {
		parent := slices.IndexFunc(t.files, func(f eventFile) bool { return f.damaged && strings.Contains(f.name, e.ParentID) })
		if t.taken || e.ParentID == "" || parent >= 0 && t.files[parent].index > 0 {
			return false
		}
		t.taken = true
	}
	t.files = append(t.files, f)
	return true
}

// readAll reads the files in the order given, several at a time. Each has an
// event or an error.
func readAll(dir string, files []eventFile) ([]event.Event, []error) {
	events := make([]event.Event, len(files))
	errs := make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			buf := make([]byte, 0, readBuffer)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				events[i], buf, errs[i] = readEvent(dir+string(filepath.Separator)+files[i].name, buf)
			}
		})
	}
	wg.Wait()
	return events, errs
}

// readBuffer holds most events.
const readBuffer = 64 << 10

// readEvent reads an event, by way of a buffer that it gives back.
func readEvent(path string, buf []byte) (event.Event, []byte, error) {
	data, err := readFile(path, buf)
	if err != nil {
		return event.Event{}, buf, fmt.Errorf("read event: %w", err)
	}
	var e event.Event
	if err := e.UnmarshalJSON(data); err != nil { // not json.Unmarshal: it would read all twice
		return event.Event{}, buf, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return e, data[:0], nil
}

func readFile(path string, buf []byte) ([]byte, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data := buf[:0]
	for {
		data = slices.Grow(data, bytes.MinRead)
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, f.Close()
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// Append writes an event to the log. With sync it is on the disk when Append
// returns, and so is everything before it: an event must not outlive one that
// it comes after. The event's parent is its caller's business. The lock of the
// log is held from then on until [Dir.Rest]. What others have written before is
// in the log then, see [Dir.Foreign].
func (d *Dir) Append(e event.Event, sync bool) error {
	data, err := e.MarshalJSON() // not json.Marshal: it would read all twice
	if err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if err := d.hold(); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if _, dup := d.index[e.ID]; dup {
		return fmt.Errorf("append event %s: it is already in the log", e.ID)
	}
	if err := d.setAside(); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	d.marker.remove(d.eventsDir(), len(d.log))
	name := d.eventName(e.ID)
	path := filepath.Join(d.path, "events", name)
	if err := d.write(path, data, sync); err != nil {
		// A file that came to the disk all the same is not in the log of any
		// process, and would take the place of the next event.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.marker.unsure = true
			d.Rest() // The next one counts again.
		}
		d.unsynced = slices.DeleteFunc(d.unsynced, func(f unsynced) bool { return f.path == path })
		return fmt.Errorf("append event: %w", err)
	}
	d.add(e, name)
	return nil
}

// eventName is the name of the next event's file.
func (d *Dir) eventName(id string) string { return fmt.Sprintf("event-%05d-%s.json", len(d.log), id) }

// write writes an event's file. With durable it puts the file on the disk together with
// those that are not there yet: a disk does all of it in one go. If only the event reaches
// the disk, it lies beyond a gap, and no caller has got it as stored.
func (d *Dir) write(path string, data []byte, durable bool) error {
	if err := d.opts.Files.Write(path, data, false); err != nil {
		return err
	}
	d.unsynced = append(d.unsynced, unsynced{path, data})
	if !durable {
		return nil
	}
	if !d.unsynced.journal(d.path, d.opts) {
		if err := d.opts.Files.Sync(append(d.unsynced.paths(), filepath.Dir(path))); err != nil {
			return err
		}
	}
	d.unsynced = nil
	return nil
}

// Flush puts the state on the disk. State updates at the end of the log stay
// without: the state has what they say, and the next event takes them along.
func (d *Dir) Flush() error {
	if err := d.twins.flush(d.opts.Files, d.path); err != nil {
		return fmt.Errorf("save conversation: %w", err)
	}
	return nil
}

// setAside renames the files beyond the end of the log before the log grows
// there: what was not part of the conversation must not become one.
func (d *Dir) setAside() error {
	for len(d.beyond) > 0 {
		path, suffix := filepath.Join(d.path, "events", d.beyond[0].name), ".beyond-gap"
		if d.beyond[0].damaged {
			suffix = damagedSuffix
		}
		if err := os.Rename(path, path+suffix); err != nil {
			return err
		}
		d.beyond = d.beyond[1:]
	}
	return nil
}

// CutOff is how many events are on the disk behind one that is missing. They are not
// part of the conversation.
func (d *Dir) CutOff() int { return d.cutOff }

// Parent is the event that e was appended to: by its parent_id, or, in logs
// that are older than that, the one before it.
func (d *Dir) Parent(i int) (int, bool) {
	switch p := d.log[i].parent; p {
	case Root:
		return 0, false
	case "":
		return i - 1, i > 0
	default:
		at, ok := d.index[p]
		return at, ok && at < i
	}
}

// Head returns the ID of the event that the next one is appended to; "" if there is none.
//
// The base state may lag behind the log, which then ends in the branch that begins with the
// event of the state. The state may also name an event that has others behind it, because a
// client went back to it: then the log's last event says so.
func (d *Dir) Head() string {
	if last, known := d.last(); known && d.continues(last) {
		return last
	}
	if d.State.LeafEventID != "" {
		if _, ok := d.index[d.State.LeafEventID]; ok {
			return d.lagging(d.State.LeafEventID)
		}
	}
	if d.State.HeadIsEmpty {
		return ""
	}
	for _, e := range slices.Backward(d.log) {
		if !e.state && !e.failure {
			return e.id
		}
	}
	return ""
}

// last returns the event that the end of the log was appended to, or is: "" for the
// beginning. It is not known of a log that does not say so.
func (d *Dir) last() (id string, known bool) {
	if len(d.log) == 0 {
		return "", false
	}
	e := d.log[len(d.log)-1]
	switch {
	case e.parent == "":
		return "", false
	case !e.state:
		return e.id, true
	case e.parent == Root:
		return "", true
	}
	return e.parent, d.Has(e.parent)
}

// continues reports whether the path to an event begins with what the base state
// knows.
func (d *Dir) continues(id string) bool {
	leaf := d.State.LeafEventID
	if leaf == "" && !d.State.HeadIsEmpty {
		return false
	}
	root := Root
	for i, ok := d.index[id]; ok; i, ok = d.Parent(i) {
		if d.log[i].id == leaf {
			return true
		}
		root = d.log[i].parent
	}
	return leaf == "" && root == Root
}

// LastStatus is what the log says last of the status; empty for nothing.
func (d *Dir) LastStatus() event.Status {
	for _, e := range slices.Backward(d.log) {
		if e.status != "" {
			return e.status
		}
	}
	return ""
}

// Unanswered reports whether an event is a message of the user of which no run has
// begun: the status that the log says last is that of the run before it.
func (d *Dir) Unanswered(id string) bool {
	i, ok := d.index[id]
	if !ok || d.log[i].source != event.SourceUser || d.log[i].kind != (*event.Message)(nil).Kind() {
		return false
	}
	return !slices.ContainsFunc(d.log[i+1:], func(e entry) bool { return e.status != "" })
}

// lagging follows head to events that were appended to it before a crash kept
// the base state from saying so.
func (d *Dir) lagging(head string) string {
	for _, e := range d.log[d.index[head]+1:] {
		if !e.state && e.parent == head {
			head = e.id
		}
	}
	return head
}

// Branch is the path from the root to head: what the agent has lived through.
func (d *Dir) Branch(head string) ([]event.Event, error) { return d.events(d.branch(head)) }

// branch is the path from the root to head, by index.
func (d *Dir) branch(head string) []int {
	var path []int
	for i, ok := d.index[head]; ok; i, ok = d.Parent(i) {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

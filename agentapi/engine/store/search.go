package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Logs reads the logs of conversations that are not open here. It keeps the names of
// the last few, so that the pages of one log do not list its directory again and
// again. Its methods may be called at the same time.
type Logs struct {
	root string
	now  func() time.Time

	mu   sync.Mutex
	kept []keptLog // the last one used at the end
}

type keptLog struct {
	id    string
	stamp fileStamp
	log   Log
}

// maxKeptLogs is how many logs are kept: a name takes some 150 bytes.
const maxKeptLogs = 4

// NewLogs reads logs below root.
func NewLogs(root string, now func() time.Time) *Logs { return &Logs{root: root, now: now} }

// Of reads the log of a conversation as it is now, up to its first gap; ErrNotFound.
func (l *Logs) Of(id string) (Log, error) {
	if !Exists(l.root, id) {
		return Log{}, ErrNotFound
	}
	dir := filepath.Join(Path(l.root, id), "events")
	info, err := os.Stat(dir)
	now := stampOf(l.now(), info, err)
	if log, ok := l.known(id, now); ok {
		return log, nil
	}
	log, err := readLog(l.root, id)
	if err != nil {
		return Log{}, err
	}
	l.keep(keptLog{id: id, stamp: now, log: log})
	return log, nil
}

func (l *Logs) known(id string, now fileStamp) (Log, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.kept, func(k keptLog) bool { return k.id == id })
	if i < 0 || !l.kept[i].stamp.same(now) {
		return Log{}, false
	}
	k := l.kept[i]
	l.kept = append(slices.Delete(l.kept, i, i+1), k)
	return k.log, true
}

func (l *Logs) keep(k keptLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(slices.DeleteFunc(l.kept, func(old keptLog) bool { return old.id == k.id }), k)
	if len(l.kept) > maxKeptLogs {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
}

// readLog is a log by the names of its files.
func readLog(root, id string) (Log, error) {
	d := &Dir{path: Path(root, id)}
	files, err := d.eventFiles()
	if err != nil {
		return Log{}, err
	}
	files, beyond := contiguous(files, 0)
	log := Log{dir: d.eventsDir(), beyond: len(beyond), entries: make([]entry, len(files)), heads: newHeads(len(files))}
	for i, f := range files {
		log.entries[i] = entry{id: f.id(), name: f.name}
	}
	log.heads.read(d.path, log.entries)
	return log, nil
}

// Len is the number of its events.
func (l Log) Len() int { return len(l.entries) }

// Beyond is the number of events that are on the disk behind one that is missing. The
// log does not have them.
func (l Log) Beyond() int { return l.beyond }

// Raw is an event of the log as it is stored, or ErrNoEvent.
func (l Log) Raw(id string) (json.RawMessage, error) {
	i := slices.IndexFunc(l.entries, func(e entry) bool { return e.id == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoEvent, id)
	}
	return l.raw(i, nil, newBuffers())
}

// raw reads an event, if the filter lets it through; else it is nil.
func (l Log) raw(i int, f *Filter, buffers *sync.Pool) (json.RawMessage, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, err := readFile(l.dir+string(filepath.Separator)+l.entries[i].name, *buf)
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	*buf = data[:0]
	if f != nil && !l.lets(i, f, data) {
		return nil, nil
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("%w: %s", ErrCorrupt, l.entries[i].name)
	}
	return slices.Clone(data), nil
}

// lets reports whether a filter lets an event through that was read.
func (l Log) lets(i int, f *Filter, data []byte) bool {
	head, known := l.head(i)
	if !known {
		var ok bool
		if head, ok = event.Glance(data); !ok {
			return false
		}
		if l.heads != nil {
			l.heads.learn(i, head)
		}
	}
	return f.Head(head) && (f.Body == nil || f.Body(data))
}

// head is what is known of an event without reading it.
func (l Log) head(i int) (event.Head, bool) {
	if l.heads != nil {
		return l.heads.of(i)
	}
	e := l.entries[i]
	return event.Head{ID: e.id, Kind: e.kind, Source: e.source, Timestamp: e.at}, e.at != ""
}

// newBuffers are what events are read into before they are looked at.
func newBuffers() *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, 0, readBuffer); return &b }}
}

// Query selects events of a log.
type Query struct {
	// From is the id of the event to begin with; "" and one that is not there are the
	// first, as with an agent-server.
	From   string
	Newest bool // from the end of the log towards its beginning
	Limit  int
	// Filter lets events through. Nil: all.
	Filter *Filter
}

// Filter lets events through: by what they are, and, unless it is nil, by their stored
// form. Its functions may be called at the same time.
type Filter struct {
	Head func(event.Head) bool
	Body func(raw []byte) bool
}

// searchedAtOnce is how many events are read before those that match are counted.
const searchedAtOnce = 128

// Search reads a page of the log: events as they are stored, without those that cannot
// be read. next is the id of the event that the page after it begins with, "" at the
// end.
func (l Log) Search(ctx context.Context, q Query) (page []json.RawMessage, next string, err error) {
	order := l.order(q)
	if q.Filter == nil {
		if len(order) > q.Limit {
			next = l.entries[order[q.Limit]].id
			order = order[:q.Limit]
		}
		for _, raw := range l.matching(order, nil, newBuffers()) {
			if raw != nil {
				page = append(page, raw)
			}
		}
		return page, next, ctx.Err()
	}
	buffers := newBuffers()
	for chunk := range l.candidates(order, q.Filter) {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		for i, raw := range l.matching(chunk, q.Filter, buffers) {
			if raw == nil {
				continue
			}
			if len(page) == q.Limit {
				return page, l.entries[chunk[i]].id, nil
			}
			page = append(page, raw)
		}
	}
	l.keepHeads()
	return page, "", nil
}

// Numbered is an event of a log with its place in it.
type Numbered struct {
	Number int
	Raw    json.RawMessage
}

// From are the events of the log that have a number or follow it, without those that
// cannot be read, in a window of limit numbers.
func (l Log) From(from, limit int) []Numbered {
	from = min(max(from, 0), len(l.entries))
	order := make([]int, min(limit, len(l.entries)-from))
	for i := range order {
		order[i] = from + i
	}
	var list []Numbered
	for i, raw := range l.matching(order, nil, newBuffers()) {
		if raw != nil {
			list = append(list, Numbered{order[i], raw})
		}
	}
	return list
}

// Number is the place of an event, or ErrNoEvent. The newest are found first.
func (l Log) Number(id string) (int, error) {
	for i, e := range slices.Backward(l.entries) {
		if e.id == id {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrNoEvent, id)
}

// candidates yields the events that may match, some at a time: those of which it is
// known that they do not are not among them.
func (l Log) candidates(order []int, f *Filter) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		chunk := make([]int, 0, searchedAtOnce)
		for _, i := range order {
			if head, known := l.head(i); known && !f.Head(head) {
				continue
			}
			if chunk = append(chunk, i); len(chunk) == searchedAtOnce {
				if !yield(chunk) {
					return
				}
				chunk = chunk[:0]
			}
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}

// keepHeads writes down what all events are, where that is not known otherwise.
func (l Log) keepHeads() {
	if l.heads != nil {
		l.heads.keep(filepath.Dir(l.dir), l.entries)
	}
}

// Count returns how many events a filter lets through.
func (l Log) Count(ctx context.Context, f *Filter) (n int, err error) {
	if f == nil {
		return l.Len(), nil
	}
	var unsure []int // that have to be read
	for i := range l.Len() {
		switch head, known := l.head(i); {
		case !known, f.Head(head) && f.Body != nil:
			unsure = append(unsure, i)
		case f.Head(head):
			n++
		}
	}
	buffers := newBuffers()
	for chunk := range slices.Chunk(unsure, searchedAtOnce) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for _, raw := range l.matching(chunk, f, buffers) {
			if raw != nil {
				n++
			}
		}
	}
	l.keepHeads()
	return n, nil
}

// order sorts the indexes of the events in the order of a search.
func (l Log) order(q Query) []int {
	order := make([]int, l.Len())
	for i := range order {
		order[i] = i
		if q.Newest {
			order[i] = l.Len() - 1 - i
		}
	}
	if q.From != "" {
		if at := slices.IndexFunc(order, func(i int) bool { return l.entries[i].id == q.From }); at >= 0 {
			return order[at:]
		}
	}
	return order
}

// matching reads events by their indexes, several at a time; nil is one that does not
// match or cannot be read.
func (l Log) matching(at []int, f *Filter, buffers *sync.Pool) []json.RawMessage {
	found := make([]json.RawMessage, len(at))
	each(len(at), 8, func(i int) {
		if raw, err := l.raw(at[i], f, buffers); err == nil {
			found[i] = raw
		}
	})
	return found
}

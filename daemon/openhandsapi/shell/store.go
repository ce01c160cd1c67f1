package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// How many events are kept, how much they may take, and for how long. The oldest go
// first.
const (
	maxEvents = 10_000
	maxBytes  = 256 << 20
	maxAge    = 7 * 24 * time.Hour
)

// maxPage is how much the events of one page have, in bytes; one event is always there.
const maxPage = 16 << 20

// stampForm is the time that the name of an event's file begins with, in UTC; the
// microseconds follow it.
const stampForm = "20060102150405"

// named are the files of events: time, kind, for an output its command, id.
var named = pattern.Of(`^\d{20}_(?:BashCommand|BashOutput_[0-9a-f]{32})_[0-9a-f]{32}$`)

// store keeps events as files. The names are known in memory.
type store struct {
	dir  string
	now  func() time.Time
	make func(dir string) error // makes the directory, which may be there

	mu     sync.Mutex
	opened bool
	files  []file // by name
	bytes  int64
	last   time.Time // that of the newest event
}

type file struct {
	name string
	size int64
}

// open reads the names that are there, once.
func (s *store) open() error {
	if s.opened {
		return nil
	}
	entries, err := os.ReadDir(s.dir) // by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the events of commands: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && named().MatchString(entry.Name()) {
			s.files = append(s.files, file{entry.Name(), info.Size()})
			s.bytes += info.Size()
		}
	}
	if n := len(s.files); n > 0 {
		s.last = timeOf(s.files[n-1].name)
	}
	s.opened = true
	s.trim()
	return nil
}

func stamp(t time.Time) string {
	t = t.UTC()
	return t.Format(stampForm) + fmt.Sprintf("%06d", t.Nanosecond()/1000)
}

func timeOf(name string) time.Time {
	t, err := time.Parse(stampForm+".000000", name[:14]+"."+name[14:20])
	if err != nil { // no month 13 was written by us
		return time.Time{}
	}
	return t
}

// add keeps an event, which make makes for its time. No two have the same time.
func (s *store) add(middle string, make func(header) any) (event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return event{}, err
	}
	at := s.now().UTC().Truncate(time.Microsecond)
	if !at.After(s.last) {
		at = s.last.Add(time.Microsecond)
	}
	h := headerAt(at)
	data, err := plainjson.Marshal(make(h))
	if err != nil {
		return event{}, err
	}
	e := event{name: stamp(at) + "_" + middle + h.ID, data: data}
	if strings.HasPrefix(middle, kindCommand) {
		e.name = stamp(at) + "_" + kindCommand + "_" + h.ID
	}
	var file bytes.Buffer
	if err := json.Indent(&file, data, "", "  "); err != nil {
		return event{}, err
	}
	s.last = at
	return e, s.write(e.name, file.Bytes())
}

func (s *store) write(name string, data []byte) error {
	err := s.make(s.dir)
	if err == nil {
		err = atomicfile.Write(filepath.Join(s.dir, name), data, atomicfile.Options{MaxMode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("keep the event of a command: %w", err)
	}
	s.files = append(s.files, file{name, int64(len(data))})
	s.bytes += int64(len(data))
	s.trim()
	return nil
}

// trim removes the oldest events.
func (s *store) trim() {
	oldest := stamp(s.now().Add(-maxAge))
	n := 0
	for n < len(s.files) && (len(s.files)-n > maxEvents || s.bytes > maxBytes || s.files[n].name < oldest) {
		_ = os.Remove(filepath.Join(s.dir, s.files[n].name)) // what stays is found at the next start
		s.bytes -= s.files[n].size
		n++
	}
	s.files = slices.Delete(s.files, 0, n)
}

// clear removes all events and returns their number.
func (s *store) clear() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	n := len(s.files)
	var errs []error
	for _, f := range s.files {
		if err := atomicfile.Remove(filepath.Join(s.dir, f.name)); err != nil {
			errs = append(errs, err)
		}
	}
	s.files, s.bytes = nil, 0
	return n, errors.Join(errs...)
}

// query selects a page of events. A zero field lets all through.
type query struct {
	kind, command string
	from, before  time.Time
	after         *int // the order of outputs
	newest        bool // the newest first
	page          string
	past          string // names up to this one are left out
	limit         int
}

// matches looks at the name of a file alone.
func (q *query) matches(name string) bool {
	parts := strings.Split(name, "_")
	switch {
	case !q.from.IsZero() && name < stamp(q.from), !q.before.IsZero() && name >= stamp(q.before):
		return false
	case name <= q.past, q.kind != "" && parts[1] != q.kind:
		return false
	}
	return q.command == "" || len(parts) == 4 && parts[2] == q.command
}

// names lists the files that a query selects, from its page on; a page that is not
// there is the first.
func (s *store) names(q *query) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	s.trim()
	var found []string
	for _, f := range s.files {
		if q.matches(f.name) {
			found = append(found, f.name)
		}
	}
	if q.newest {
		slices.Reverse(found)
	}
	return found[max(slices.Index(found, q.page), 0):], nil
}

// search reads a page of events, and the name that the next one begins with. What
// cannot be read any more is left out. No page is followed by an empty one.
func (s *store) search(q query) (events []event, next string, err error) {
	names, err := s.names(&q)
	if err != nil {
		return nil, "", err
	}
	size := 0
	for _, name := range names {
		data, err := s.read(name)
		if err != nil || q.after != nil && tooEarly(data, *q.after) {
			continue
		}
		if len(events) == q.limit || size > maxPage {
			return events, name, nil
		}
		size += len(data)
		events = append(events, event{name, data})
	}
	return events, "", nil
}

func tooEarly(data []byte, after int) bool {
	var o struct {
		Order *int `json:"order"`
	}
	return json.Unmarshal(data, &o) == nil && o.Order != nil && *o.Order <= after
}

// read is an event as JSON in one line.
func (s *store) read(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, data)
	return line.Bytes(), err
}

// find reads the event with an id; nil if there is none.
func (s *store) find(id string) ([]byte, error) {
	s.mu.Lock()
	err := s.open()
	var name string
	for _, f := range s.files {
		if id != "" && strings.HasSuffix(f.name, "_"+strings.ReplaceAll(id, "-", "")) {
			name = f.name
		}
	}
	s.mu.Unlock()
	if err != nil || name == "" {
		return nil, err
	}
	if data, err := s.read(name); err == nil {
		return data, nil
	}
	return nil, nil // it was removed meanwhile
}

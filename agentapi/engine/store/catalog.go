package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Listed is what a list of conversations is sorted and selected by.
type Listed struct {
	ID               string // with dashes
	Created, Updated time.Time
	Status           event.Status
	Parent           string // the id of the one that this is a part of, as its file has it; "" if there is none
}

// Catalog knows the conversations below a directory, whoever writes them. Its
// methods may be called at the same time.
type Catalog struct {
	root string
	now  func() time.Time
	warn func(id string, err error)

	mu    sync.Mutex
	known map[string]*cataloged // by the name of the directory
	names []string              // of the directories, as of stamp
	stamp fileStamp
	whole time.Time // when all of them were looked at

	noting sync.Mutex          // never held for long, unlike mu
	noted  map[string]struct{} // directories that have changed since
}

// cataloged is a conversation as it was read when its files had those stamps.
type cataloged struct {
	state, meta fileStamp
	listed      Listed
	usable      bool
	err         error // why it is in no list
}

// NewCatalog is a catalog of the conversations below root. warn is told once of each
// one that cannot be read; it must not call the catalog.
func NewCatalog(root string, now func() time.Time, warn func(id string, err error)) *Catalog {
	return &Catalog{root: root, now: now, warn: warn, known: make(map[string]*cataloged), noted: make(map[string]struct{})}
}

// fileStamp says whether a file may have changed. One that was written just before it
// was read can change again without another stamp, so it is not believed.
type fileStamp struct {
	at   int64 // of the last change, in nanoseconds
	size int64
	sure bool
}

// settleTime is how old a change is when the next one is sure to have another time.
const settleTime = time.Second

func stampOf(now time.Time, info os.FileInfo, err error) fileStamp {
	if err != nil {
		return fileStamp{sure: errors.Is(err, fs.ErrNotExist)}
	}
	at := info.ModTime()
	return fileStamp{at: at.UnixNano(), size: info.Size(), sure: now.Sub(at) > settleTime}
}

func (c *Catalog) stampAt(path string) fileStamp {
	info, err := os.Stat(path)
	return stampOf(c.now(), info, err)
}

// same reports whether nothing has changed since the older of two stamps.
func (s fileStamp) same(now fileStamp) bool { return s.sure && s.at == now.at && s.size == now.size }

// Where there are more than fewNames conversations, all of them are looked at only once
// in lookAgain: what another process does is seen a little later. What was noted is
// always looked at.
const (
	fewNames  = 1000
	lookAgain = 2 * time.Second
)

// Note says that a conversation has been made, changed or removed here.
func (c *Catalog) Note(ids ...string) {
	c.noting.Lock()
	defer c.noting.Unlock()
	for _, id := range ids {
		c.noted[filepath.Base(Path(c.root, id))] = struct{}{}
	}
}

// List returns the conversations that there are now, in no order. It reads only those
// that have changed.
func (c *Catalog) List() ([]Listed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.changed()
	if err != nil {
		return nil, err
	}
	found := make([]*cataloged, len(changed))
	each(len(changed), lookedAtOnce, func(i int) { found[i] = c.look(changed[i], c.known[changed[i]]) })
	for i, name := range changed {
		c.known[name] = found[i]
	}
	list := make([]Listed, 0, len(c.known))
	for _, f := range c.known {
		if f != nil && f.usable {
			list = append(list, f.listed)
		}
	}
	return list, nil
}

// Unreadable are the conversations that cannot be read, as of the last List.
func (c *Catalog) Unreadable() map[string]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[string]error)
	for name, f := range c.known {
		if f != nil && f.err != nil {
			found[withDashes(name)] = f.err
		}
	}
	return found
}

// withDashes is the id of the conversation in a directory of this name.
func withDashes(name string) string {
	return name[:8] + "-" + name[8:12] + "-" + name[12:16] + "-" + name[16:20] + "-" + name[20:]
}

// changed returns the directories that have to be looked at.
func (c *Catalog) changed() ([]string, error) {
	now := c.now()
	c.noting.Lock()
	noted := slices.Collect(maps.Keys(c.noted))
	c.noted = make(map[string]struct{})
	c.noting.Unlock()
	if since := now.Sub(c.whole); len(c.names) > fewNames && since >= 0 && since < lookAgain {
		return noted, nil
	}
	if err := c.readNames(); err != nil {
		return nil, err
	}
	c.whole = now
	return c.names, nil
}

// readNames lists the directories again, if their names may have changed.
func (c *Catalog) readNames() error {
	info, err := os.Stat(c.root)
	now := stampOf(c.now(), info, err)
	if c.names != nil && c.stamp.same(now) {
		return nil
	}
	dir, err := os.Open(c.root)
	if errors.Is(err, fs.ErrNotExist) {
		c.names, c.known = nil, make(map[string]*cataloged)
		return nil
	}
	if err != nil {
		return fmt.Errorf("list conversations: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return fmt.Errorf("list conversations: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isHex(name) })
	known := make(map[string]*cataloged, len(names))
	for _, name := range names {
		known[name] = c.known[name]
	}
	c.names, c.stamp, c.known = names, now, known
	return nil
}

// isHex reports whether a directory has the name of a conversation's.
func isHex(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// look reads a conversation as it is now; old is as it was, or nil.
func (c *Catalog) look(name string, old *cataloged) *cataloged {
	dir := c.root + string(filepath.Separator) + name + string(filepath.Separator)
	stateAt, metaAt := c.stampAt(dir+stateFile), c.stampAt(dir+metaFile)
	if old != nil && old.state.same(stateAt) && old.meta.same(metaAt) {
		return old
	}
	now := &cataloged{state: stateAt, meta: metaAt}
	var err error
	if stateAt.at == 0 && stateAt.sure { // it is being made, or removed, or was lost
		if err = orphaned(filepath.Clean(dir)); err == nil {
			return now
		}
	} else {
		now.listed, err = Glance(c.root, withDashes(name))
	}
	now.usable = err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		if now.err = err; old == nil || old.err == nil {
			c.warn(withDashes(name), err)
		}
	}
	return now
}

// Glance finds what a list says of a conversation.
func Glance(root, id string) (Listed, error) {
	path := filepath.Join(Path(root, id), stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Listed{}, ErrNotFound
	}
	if err != nil {
		return Listed{}, fmt.Errorf("read conversation: %w", err)
	}
	var state struct {
		ID     string       `json:"id"`
		Status event.Status `json:"execution_status"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return Listed{}, &DamageError{File: stateFile, Err: err}
	}
	if state.ID != id {
		return Listed{}, &DamageError{File: stateFile, Err: fmt.Errorf("it belongs to conversation %q", state.ID)}
	}
	meta, err := PeekMeta(root, id)
	if err != nil {
		return Listed{}, err
	}
	l := Listed{ID: id, Status: cmp.Or(state.Status, event.Idle)}
	_ = json.Unmarshal(meta["parent_conversation_id"], &l.Parent) // of another type: there is none
	l.Created, l.Updated = Times(root, id, meta)
	return l, nil
}

// Times returns when a conversation was made and changed last. One that only an SDK has
// written is as old as its files.
func Times(root, id string, meta RawMeta) (created, updated time.Time) {
	about := meta.Description()
	created, updated = about.Created, about.Updated
	if updated.IsZero() {
		updated = modified(filepath.Join(Path(root, id), stateFile))
	}
	if created.IsZero() {
		created = updated
		first, err := filepath.Glob(filepath.Join(Path(root, id), "events", "event-00000-*.json"))
		if err == nil && len(first) > 0 {
			created = modified(first[0])
		}
	}
	return created, updated
}

// modified is when a file was written; zero for one that is not there.
func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// lookedAtOnce is how many directories one goroutine takes at a time.
const lookedAtOnce = 64

// each calls f for 0 to n-1, in several goroutines, which take so many together.
func each(n, together int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/together+1) {
		wg.Go(func() {
			for {
				from := int(next.Add(int64(together))) - together
				if from >= n {
					return
				}
				for i := from; i < min(n, from+together); i++ {
					f(i)
				}
			}
		})
	}
	wg.Wait()
}

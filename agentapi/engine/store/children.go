package store

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

	"github.com/ohgw/ohgw/internal/uuid"
)

// Children knows which conversations are a part of another one. That is written into
// meta.json when a conversation is made and never changes, so each file is read once.
// Its methods may be called at the same time.
type Children struct {
	mu      sync.Mutex
	dirs    dirNames
	parents map[string]kin // by the name of the directory
}

// kin is what meta.json says of a conversation's parent; "" is none.
type kin struct {
	parent string
	made   time.Time
}

// NewChildren knows the conversations below root.
func NewChildren(root string, now func() time.Time) *Children {
	return &Children{dirs: dirNames{root: root, now: now}, parents: make(map[string]kin)}
}

// Of are the ids of a conversation's children, the oldest first.
func (c *Children) Of(id string) ([]string, error) {
	all, err := c.All()
	return all[id], err
}

// All are the children of every conversation that has some, the oldest first.
func (c *Children) All() (map[string][]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil {
		return nil, err
	}
	var named []string
	for name, k := range c.parents {
		if k.parent != "" {
			named = append(named, name)
		}
	}
	slices.SortFunc(named, func(a, b string) int {
		if by := c.parents[a].made.Compare(c.parents[b].made); by != 0 {
			return by
		}
		return strings.Compare(a, b)
	})
	all := make(map[string][]string)
	for _, name := range named {
		parent := c.parents[name].parent
		all[parent] = append(all[parent], dashed(name))
	}
	return all, nil
}

// refresh reads about the conversations that are new, and forgets those that are gone.
func (c *Children) refresh() error {
	changed, err := c.dirs.read()
	if err != nil {
		return err
	}
	if changed {
		there := make(map[string]kin, len(c.dirs.names))
		for _, name := range c.dirs.names {
			if k, known := c.parents[name]; known {
				there[name] = k
			}
		}
		c.parents = there
	}
	if len(c.parents) == len(c.dirs.names) {
		return nil
	}
	unknown := slices.DeleteFunc(slices.Clone(c.dirs.names), func(name string) bool {
		_, known := c.parents[name]
		return known
	})
	found := make([]*kin, len(unknown))
	each(len(unknown), lookedAtOnce, func(i int) { found[i] = kinOf(filepath.Join(c.dirs.root, unknown[i])) })
	for i, k := range found {
		if k != nil {
			c.parents[unknown[i]] = *k
		}
	}
	return nil
}

// kinOf reads the parent of the conversation in a directory; nil for one that is being
// made.
func kinOf(dir string) *kin {
	data, err := os.ReadFile(filepath.Join(dir, metaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !bytes.Contains(data, []byte(`"parent_conversation_id"`)) {
		return &kin{} // what cannot be read has no parent: lists tell of the damage
	}
	var meta RawMeta
	var parent string
	if json.Unmarshal(data, &meta) != nil || json.Unmarshal(meta["parent_conversation_id"], &parent) != nil {
		return &kin{}
	}
	if parent, err = uuid.Parse(parent); err != nil {
		return &kin{}
	}
	return &kin{parent: parent, made: meta.Description().Created}
}

// dirNames are the names of the directories of conversations.
type dirNames struct {
	root  string
	now   func() time.Time
	names []string // as of stamp
	stamp fileStamp
}

// read lists the directories again, if their names may have changed.
func (d *dirNames) read() (changed bool, err error) {
	info, err := os.Stat(d.root)
	now := stampOf(d.now(), info, err)
	if d.names != nil && d.stamp.same(now) {
		return false, nil
	}
	dir, err := os.Open(d.root)
	if errors.Is(err, fs.ErrNotExist) {
		d.names = nil
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("list conversations: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return false, fmt.Errorf("list conversations: %w", err)
	}
	d.names = slices.DeleteFunc(names, func(name string) bool { return !isHex(name) })
	d.stamp = now
	return true, nil
}

// isHex reports whether a directory has the name of a conversation's.
func isHex(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// dashed is the id of the conversation in a directory.
func dashed(name string) string {
	return name[:8] + "-" + name[8:12] + "-" + name[12:16] + "-" + name[16:20] + "-" + name[20:]
}

package chats

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
)

// store is one file for each chat: nothing has to be read when the gateway
// starts, and a message adds a few hundred bytes, however long the chat is. The
// name of a file is the chat's key.
//
// The first line is a record of the chat, each line after it a change. A file
// that has become twice as long as its record is written again. Changes are not
// synced: a chat that lost its last turns with the machine tells them to its
// conversation again, as its transcript shows them. A line that a crash has cut
// off counts for nothing.
type store struct {
	files *recordfile.Dir // nil: nothing is stored
}

// minJournal is the length of a file that is never written again, in bytes.
const minJournal = 16 << 10

// saved is what the file of a chat has.
type saved struct {
	size, base int64 // bytes: now, and when it was written as a whole
	whole      bool
	seed       maphash.Seed
	branches   map[string][]uint64 // a sum of each turn
}

// change is a line of the file: what has become of a branch.
type change struct {
	Whole bool      `json:"whole,omitempty"`
	Gone  []Digest  `json:"gone,omitempty"`
	Drop  []string  `json:"drop,omitempty"` // conversations that are forgotten
	ID    string    `json:"conversation_id,omitempty"`
	Work  string    `json:"workspace,omitempty"`
	Used  time.Time `json:"used,omitzero"`
	Keep  int       `json:"keep,omitempty"` // so many turns stay
	Turns []Turn    `json:"turns,omitempty"`
}

// file is the name of a chat's record.
func file(key string) string { return key[:2] + "/" + key + suffix }

// load reads a chat; an unknown one is empty. A file without a chat of a known
// version is as good as none: the chat begins again, with what its transcript
// shows. One that cannot be read is ErrUnreadable: it may be all right, and would
// be written over. The second value is nil where the file has to be written as a
// whole.
func (s store) load(key string) (record, *saved, error) {
	if s.files == nil {
		return record{}, nil, nil
	}
	data, err := s.files.Read(file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil, nil
	}
	if err != nil {
		return record{}, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	first, changes := recordfile.Lines(data)
	var r record
	if err := json.Unmarshal(first, &r); err != nil || r.Version != recordVersion && r.Version != oldVersion {
		return record{}, nil, fmt.Errorf("read chat %s: not a chat of this version", key[:8])
	}
	for line := range changes {
		var c change
		if json.Unmarshal(line, &c) == nil {
			r.apply(c)
		}
	}
	if r.Version == oldVersion {
		return r, nil, nil
	}
	return r, savedAs(r, int64(len(data)), int64(len(first))), nil
}

// apply makes a change. One that does not fit, because another before it was
// lost, counts for nothing.
func (r *record) apply(c change) {
	r.Whole = r.Whole || c.Whole
	r.Gone = lastOf(append(r.Gone, c.Gone...), maxGone)
	r.Branches = slices.DeleteFunc(r.Branches, func(b *branch) bool { return slices.Contains(c.Drop, b.Conversation) })
	if c.ID == "" {
		return
	}
	b := r.find(c.ID)
	if b == nil {
		b = &branch{Conversation: c.ID}
		r.Branches = append(r.Branches, b)
	}
	if c.Keep > len(b.Turns) {
		return
	}
	b.Workspace, b.Used = c.Work, c.Used
	b.Turns = append(b.Turns[:c.Keep], c.Turns...)
}

// find is the branch of a conversation; nil if there is none.
func (r *record) find(conversation string) *branch {
	for _, b := range r.Branches {
		if b.Conversation == conversation {
			return b
		}
	}
	return nil
}

// save writes what the file of a chat lacks: what is certain of a branch, and
// what was forgotten. The caller holds c.mu.
func (s store) save(c *chat, b *branch) error {
	if s.files == nil {
		return nil
	}
	had := c.saved
	c.saved = nil // where it fails, the next one writes everything
	lost := c.unsaved
	c.unsaved = change{}
	if had == nil || had.size > max(minJournal, 2*had.base) {
		return s.rewrite(c)
	}
	lacks, sums := had.diff(c, b, lost)
	line, err := json.Marshal(lacks)
	if err != nil {
		return fmt.Errorf("encode chat: %w", err)
	}
	err = s.files.Append(file(c.key), line)
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return s.rewrite(c)
	}
	if err != nil {
		return err
	}
	had.size += int64(len(line) + 2) // with its newlines
	had.branches[b.Conversation] = sums
	for _, id := range lost.Drop {
		delete(had.branches, id)
	}
	had.whole, c.saved = c.Whole, had
	return nil
}

// rewrite writes the whole file. The caller holds c.mu.
func (s store) rewrite(c *chat) error {
	kept := record{Version: recordVersion, Whole: c.Whole, Gone: c.Gone}
	for _, b := range c.Branches {
		sure := *b
		sure.Turns = b.certain()
		kept.Branches = append(kept.Branches, &sure)
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("encode chat: %w", err)
	}
	if err := s.files.Write(file(c.key), data); err != nil {
		return err
	}
	c.saved = savedAs(c.record, int64(len(data)), int64(len(data)))
	return nil
}

// certain are the turns of b whose run has begun.
func (b *branch) certain() []Turn {
	if !slices.ContainsFunc(b.Turns, func(t Turn) bool { return t.waits }) {
		return b.Turns
	}
	return slices.DeleteFunc(slices.Clone(b.Turns), func(t Turn) bool { return t.waits })
}

// savedAs is a file that has all that is certain in r.
func savedAs(r record, size, base int64) *saved {
	had := &saved{size: size, base: base, whole: r.Whole, seed: maphash.MakeSeed(), branches: make(map[string][]uint64)}
	for _, b := range r.Branches {
		had.branches[b.Conversation] = had.sums(b.certain())
	}
	return had
}

// diff is what the file lacks, with the sums of the turns that it has then.
func (had *saved) diff(c *chat, b *branch, lost change) (d change, now []uint64) {
	d = lost
	d.Whole = c.Whole && !had.whole
	turns := b.certain()
	old := had.branches[b.Conversation]
	now = had.sums(turns)
	for d.Keep < min(len(old), len(now)) && old[d.Keep] == now[d.Keep] {
		d.Keep++
	}
	d.ID, d.Work, d.Used, d.Turns = b.Conversation, b.Workspace, b.Used, turns[d.Keep:]
	return d, now
}

// sums tell turns apart, as they are on the disk.
func (had *saved) sums(turns []Turn) []uint64 {
	list := make([]uint64, len(turns))
	var h maphash.Hash
	h.SetSeed(had.seed)
	for i := range turns {
		t := &turns[i]
		h.Reset()
		for _, d := range t.Answers {
			_, _ = h.WriteString(string(d))
			_ = h.WriteByte(',')
		}
		_ = h.WriteByte(';')
		_, _ = h.WriteString(string(t.User))
		_ = h.WriteByte(';')
		_, _ = h.WriteString(t.After)
		if t.Stopped {
			_ = h.WriteByte('!')
		}
		list[i] = h.Sum64()
	}
	return list
}

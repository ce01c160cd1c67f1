// Package recent remembers the conversations of chats on this machine, so that a later chat
// can continue one. It holds the beginning of what was asked, and nothing of what was
// answered.
package recent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/tui"
)

const (
	// maxRecent is how many conversations are remembered.
	maxRecent = 200
	// maxTitle bounds a title, in bytes, so that a line stays a line.
	maxTitle = 400
	// recentTimeout bounds the wait for another chat that writes.
	recentTimeout = 2 * time.Second
)

// File is a file of JSON lines, for the user only, that several chats may use at the same
// time. A line that cannot be read is left out, and goes with the next write.
type File struct{ path string }

// line is a conversation of the file.
type line struct {
	ID    string    `json:"id"`
	Model string    `json:"model"`
	Title string    `json:"title"`
	Place string    `json:"place,omitempty"`
	Turns int       `json:"turns"`
	Used  time.Time `json:"used"`

	Workspace string `json:"workspace,omitempty"`
}

// Open finds the file. It does not read it yet.
func Open(a *kit.App) (*File, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return &File{path: kit.RecentFile(dirs)}, nil
}

// List implements [tui.Recent].
func (r *File) List(context.Context) ([]tui.Conversation, error) { return r.Read() }

// Remember implements [tui.Recent]. A chat that continues a conversation by its id does
// not know how it began, so what is known of that stays.
func (r *File) Remember(ctx context.Context, c tui.Conversation) error {
	return r.change(ctx, "remember conversation", func(list []tui.Conversation) ([]tui.Conversation, error) {
		if i := slices.IndexFunc(list, func(old tui.Conversation) bool { return old.ID == c.ID }); i >= 0 {
			c.Workspace = cmp.Or(c.Workspace, list[i].Workspace)
			c.Title, c.Turns = cmp.Or(list[i].Title, c.Title), max(c.Turns, list[i].Turns+1)
		}
		list = slices.DeleteFunc(list, func(old tui.Conversation) bool { return old.ID == c.ID })
		return append([]tui.Conversation{c}, list...), nil
	})
}

// Rename implements [tui.Recent].
func (r *File) Rename(ctx context.Context, id, title string) error {
	return r.change(ctx, "rename conversation", func(list []tui.Conversation) ([]tui.Conversation, error) {
		i := slices.IndexFunc(list, func(c tui.Conversation) bool { return c.ID == id })
		if i < 0 {
			return nil, errNotListed
		}
		list[i].Title = title
		return list, nil
	})
}

// Forget implements [tui.Recent].
func (r *File) Forget(ctx context.Context, id string) error {
	return r.change(ctx, "forget conversation", func(list []tui.Conversation) ([]tui.Conversation, error) {
		return slices.DeleteFunc(list, func(c tui.Conversation) bool { return c.ID == id }), nil
	})
}

var errNotListed = errors.New("it is not in the list of this machine")

// change writes the file again while no other chat does.
func (r *File) change(ctx context.Context, what string, f func([]tui.Conversation) ([]tui.Conversation, error)) (err error) {
	if err := paths.MakePrivate(filepath.Dir(r.path)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	lock, err := filelock.Acquire(ctx, r.path+".lock", filelock.Options{Timeout: recentTimeout, Mode: 0o600})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	list, err := r.Read()
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var b bytes.Buffer
	for _, c := range list[:min(len(list), maxRecent)] {
		c.Title = shortTitle(c.Title)
		kit.WriteJSONLine(&b, line(c))
	}
	return atomicfile.Write(r.path, b.Bytes(), atomicfile.Options{MaxMode: 0o600})
}

func shortTitle(title string) string { return truncate.Bytes(setup.Clean(title), maxTitle, "") }

// Read returns what is remembered, the latest first.
func (r *File) Read() ([]tui.Conversation, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recent conversations: %w", err)
	}
	var list []tui.Conversation
	for text := range bytes.Lines(data) {
		var c line
		if err := json.Unmarshal(text, &c); err != nil {
			continue
		}
		if _, err := uuid.Parse(c.ID); err == nil {
			list = append(list, tui.Conversation(c))
		}
	}
	slices.SortStableFunc(list, func(a, b tui.Conversation) int { return cmp.Compare(b.Used.UnixNano(), a.Used.UnixNano()) })
	return list, nil
}

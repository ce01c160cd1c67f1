package chat

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
	cells "github.com/ohgw/ohgw/tui/wrap"
)

const (
	// maxRecent is how many conversations are remembered.
	maxRecent = 200
	// maxTitle bounds a title, in bytes, so that a line stays a line.
	maxTitle = 400
	// titleWidth is how much of a question is its title, as in tui.
	titleWidth = 60
	// recentTimeout bounds the wait for another chat that writes.
	recentTimeout = 2 * time.Second
)

// recentFile remembers the conversations of chats: a file of JSON lines, for
// the user only, that several chats may use at the same time. It holds the
// beginning of what was asked, and nothing of what was answered. A line that
// cannot be read is left out, and goes with the next write.
type recentFile struct{ path string }

// recentJSON is a line.
type recentJSON struct {
	ID    string    `json:"id"`
	Model string    `json:"model"`
	Title string    `json:"title"`
	Place string    `json:"place,omitempty"`
	Turns int       `json:"turns"`
	Used  time.Time `json:"used"`

	Workspace string `json:"workspace,omitempty"`
}

func recent(a *kit.App) (*recentFile, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return &recentFile{path: kit.RecentFile(dirs)}, nil
}

// List implements [tui.Recent].
func (r *recentFile) List(context.Context) ([]tui.Conversation, error) { return r.read() }

// Remember implements [tui.Recent]. A chat that continues a conversation by its id does
// not know how it began, so what is known of that stays.
func (r *recentFile) Remember(ctx context.Context, c tui.Conversation) error {
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
func (r *recentFile) Rename(ctx context.Context, id, title string) error {
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
func (r *recentFile) Forget(ctx context.Context, id string) error {
	return r.change(ctx, "forget conversation", func(list []tui.Conversation) ([]tui.Conversation, error) {
		return slices.DeleteFunc(list, func(c tui.Conversation) bool { return c.ID == id }), nil
	})
}

var errNotListed = errors.New("it is not in the list of this machine")

// change writes the file again while no other chat does.
func (r *recentFile) change(ctx context.Context, what string, f func([]tui.Conversation) ([]tui.Conversation, error)) (err error) {
	if err := paths.MakePrivate(filepath.Dir(r.path)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	lock, err := filelock.Acquire(ctx, r.path+".lock", filelock.Options{Timeout: recentTimeout, Mode: 0o600})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	list, err := r.read()
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var b bytes.Buffer
	for _, c := range list[:min(len(list), maxRecent)] {
		c.Title = shortTitle(c.Title)
		kit.WriteJSONLine(&b, recentJSON(c))
	}
	return atomicfile.Write(r.path, b.Bytes(), atomicfile.Options{MaxMode: 0o600})
}

// remember keeps the conversation of a question that named one. The question does not
// fail if that cannot be kept.
func (c *session) remember(ctx context.Context, t *turnJSON) {
	r, err := recent(c.App)
	if err == nil {
		err = r.Remember(context.WithoutCancel(ctx), tui.Conversation{
			ID: t.Conversation, Model: t.Model, Title: cells.Cut(setup.Clean(c.prompt), titleWidth), Place: c.place(), Turns: 1, Used: c.Now(), Workspace: t.Workspace,
		})
	}
	if err != nil {
		c.Detail("the conversation was not added to the recent ones: %v", err)
	}
}

func shortTitle(title string) string { return truncate.Bytes(setup.Clean(title), maxTitle, "") }

// read gives what is remembered, the latest first.
func (r *recentFile) read() ([]tui.Conversation, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recent conversations: %w", err)
	}
	var list []tui.Conversation
	for line := range bytes.Lines(data) {
		var c recentJSON
		if err := json.Unmarshal(line, &c); err != nil {
			continue
		}
		if _, err := uuid.Parse(c.ID); err == nil {
			list = append(list, tui.Conversation(c))
		}
	}
	slices.SortStableFunc(list, func(a, b tui.Conversation) int { return cmp.Compare(b.Used.UnixNano(), a.Used.UnixNano()) })
	return list, nil
}

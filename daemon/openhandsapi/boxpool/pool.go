// Package boxpool is where OpenHands' own API works for its clients beside conversations:
// a box for each workspace, with the rights of a conversation there. A path belongs to the
// workspace that all conversations share (--workspace); else to the git repository that it
// is in; else to its directory. What no box may have for a workspace, such as /etc, is seen
// from the box of the API's own directory.
package boxpool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// maxBoxes is how many boxes are kept in which nothing was asked for just now.
const maxBoxes = 16

// Config is what a pool needs.
type Config struct {
	Manager *manager.Manager // makes the boxes
	Dir     string           // of the API in the state directory; it is made when it is needed
	Only    string           // the one workspace that there may be; "" for any
	Home    string           // of the user
	Environ []string         // of ohgw; a program in a box gets a part of it
	Clean   []string         // what a program gets at the levels off and external, where no box reduces it
}

// Pool has a box for each workspace.
type Pool struct {
	Config

	mu     sync.Mutex
	open   map[string]*held // by workspace
	uses   int
	closed bool
}

// New returns a pool without boxes. Each is made when it is needed first.
func New(c Config) *Pool { return &Pool{Config: c, open: map[string]*held{}} }

// hold gives the box for a path until release is called. A relative path, and "", is
// below the API's own directory, or the one workspace.
func (pool *Pool) hold(ctx context.Context, path string) (box *held, at string, release func(), err error) {
	base := pool.Only
	if base == "" {
		base = filepath.Join(pool.Dir, "workspace")
		if err := paths.MakePrivate(base); err != nil {
			return nil, "", nil, err
		}
	}
	at = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		at = filepath.Join(base, path)
	}
	dir, at, err := locate(at)
	if err != nil {
		return nil, "", nil, err
	}
	workspace, err := pool.workspaceOf(dir, base)
	if err != nil {
		return nil, "", nil, err
	}
	box, idle, err := pool.enter(ctx, workspace)
	if err != nil {
		return nil, "", nil, err
	}
	if idle != nil {
		err = idle.Close()
	}
	return box, at, sync.OnceFunc(func() { pool.leave(box) }), err
}

// enter finds or makes the box of a workspace. One that is idle has to be closed if
// there are many.
func (pool *Pool) enter(ctx context.Context, workspace string) (box, idle *held, err error) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.closed {
		return nil, nil, sandbox.ErrClosed
	}
	box = pool.open[workspace]
	if box == nil {
		if box, err = pool.make(ctx, workspace); err != nil {
			return nil, nil, err
		}
		pool.open[workspace] = box
		idle = pool.oldest()
	}
	pool.uses++
	box.users, box.used = box.users+1, pool.uses
	return box, idle, nil
}

func (pool *Pool) make(ctx context.Context, workspace string) (*held, error) {
	sum := sha256.Sum256([]byte(workspace))
	name := hex.EncodeToString(sum[:8])
	box, err := pool.Manager.Box(ctx, manager.Env{Conversation: "api-" + name, Dir: filepath.Join(pool.Dir, "boxes", name), Workspace: workspace})
	return &held{Box: box, workspace: workspace, files: map[string]sandbox.Streams{}}, err
}

// oldest takes out the box that was idle the longest, if there are too many.
func (pool *Pool) oldest() *held {
	if len(pool.open) <= maxBoxes {
		return nil
	}
	var found *held
	for _, box := range pool.open {
		if box.users == 0 && box.used > 0 && (found == nil || box.used < found.used) {
			found = box
		}
	}
	if found != nil {
		delete(pool.open, found.workspace)
	}
	return found
}

func (pool *Pool) leave(box *held) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	box.users--
}

// Close ends what runs in the boxes.
func (pool *Pool) Close() error {
	pool.mu.Lock()
	pool.closed = true
	open := pool.open
	pool.open = nil
	pool.mu.Unlock()
	var errs []error
	for _, box := range open {
		errs = append(errs, box.Close())
	}
	return errors.Join(errs...)
}

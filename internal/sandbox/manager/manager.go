package manager

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/gitconfig"
	"github.com/ohgw/ohgw/internal/sandbox/gitguard"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// Config is what a manager is made of.
type Config struct {
	Settings Settings
	// User is whose programs they are. Its GitConfig is asked of git.
	User boxes.User
	// Conversations is the mark of programs at the levels Off and External, see
	// [sandbox.Mark].
	Conversations string
	// Reserved are ports of this machine that no setting opens: those of ohgw.
	Reserved []uint16
	// Sought are the ports where ohgw looks for servers by its settings: no program of
	// a box of level reduced may listen there. It is asked for each box; nil: only the
	// usual ones.
	Sought func() []uint16
	Getenv func(string) string
	// Scripted is the profile whose commands are ohgw's own, if there is one. Where this
	// machine has no sandbox, its conversations run without one, and no others do.
	Scripted string
	// Executable identifies the build of ohgw, for what was found out about this
	// machine; nil: it is found out each time.
	Executable func() (string, error)
	// Grants are what the user has allowed beyond the settings; nil: those in the
	// state directory.
	Grants *grants.Store
	Now    func() time.Time
	Log    *slog.Logger

	// Dial, Resolve and Own are the network outside, as in [netgate.Config]; nil is
	// that of this machine.
	Dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	Own     func() ([]netip.Addr, error)
	// Ask finds out what this machine can have; nil makes a box.
	Ask func(context.Context) probe.Result
	// RunTool runs a package manager, as in [presets.Config]; nil runs it.
	RunTool func(ctx context.Context, dir string, env, args []string) ([]byte, error)
	// Patience is how long a package manager may be idle, as in [presets.Config].
	Patience time.Duration
	// Test tries to break out; nil makes seven attempts.
	Test func(context.Context) ([]escape.Result, error)
}

// Manager makes the boxes of conversations. Its methods may be called at the same
// time.
type Manager struct {
	cfg       Config
	lacking   *LevelError // why only scripted conversations run; nil: all do
	watcher   *gitguard.Watcher
	asker     *presets.Asker
	gitConfig func() string

	ctx    context.Context // ends with the manager
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu   sync.Mutex
	open map[string]*box // those of conversations, by their ids

	level level
}

// Status is which sandbox there is.
type Status struct {
	Level    sandbox.Level
	Landlock int    // the ABI that the kernel has; 0 for none
	Reason   string // why the level is not better; "" for the best one
	Fix      string // what to do about it
}

// New finds out which level there is, and makes a manager. A level below the minimum
// is an [LevelError].
func New(ctx context.Context, c Config) (*Manager, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Grants == nil {
		c.Grants = grants.Open(grants.Config{State: c.User.State, Home: c.User.Home, Private: private(c.User), Now: c.Now})
	}
	m := &Manager{cfg: c, open: map[string]*box{}, level: newLevel()}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	switch c.Settings.Mode {
	case Off, External:
		m.level.fixed(Status{Level: sandbox.Level(c.Settings.Mode)})
		return m, nil
	case On:
	}
	f, err := m.first(ctx)
	if err != nil {
		return nil, err
	}
	if m.lacking = m.lacks(Status(f.Result)); m.lacking != nil {
		if c.Scripted == "" || f.Level != sandbox.Off {
			return nil, m.lacking
		}
		m.level.fixed(Status(f.Result))
		return m, nil
	}
	if m.watcher, err = gitguard.NewWatcher(); err != nil {
		return nil, fmt.Errorf("watch git directories: %w", err)
	}
	m.asker = presets.New(presets.Config{
		Getenv: c.Getenv, Home: c.User.Home, Dir: c.User.State, Cache: presets.CacheIn(c.User.State), Now: c.Now, Run: c.RunTool, Patience: c.Patience,
		Failed: func(err error) {
			c.Log.Warn("a package manager did not list the hosts it uses: they are not allowed until it does", "err", err)
		},
	})
	m.gitConfig = sync.OnceValue(func() string { return gitconfig.Of(m.ctx, c.User.Home, c.User.Environ) })
	m.begin(f)
	return m, nil
}

// Lacking is why only the conversations of Config.Scripted run; nil if all do.
func (m *Manager) Lacking() *LevelError { return m.lacking }

// LevelError says that this machine does not have the level that was asked for.
type LevelError struct {
	Status  Status
	Minimum sandbox.Level
}

func (e *LevelError) Error() string {
	if e.Status.Level == sandbox.Reduced {
		return "this machine has the sandbox at level reduced only: " + e.Status.Reason
	}
	return "there is no sandbox on this machine: " + e.Status.Reason
}

// Env is what a box is made for.
type Env struct {
	Conversation string // its id
	Dir          string // its directory
	Workspace    string // absolute; it may be a symbolic link
	Profile      string // the only one that the agent has had; "" if it had others, or if that is not known
	// Blocked is told what the box refuses. It does not wait, and it may be nil.
	Blocked func(sandbox.Block)
	// ReadOnly says that programs read the workspace, and do not change it.
	ReadOnly bool
	// Progress is told a line about what programs wait for. It may be nil.
	Progress func(line string)
	// Read are files and directories, without symbolic links, that this box shows beside
	// what the settings say: it is for programs of the user, not of the agent. Answers
	// and grants of the conversation go to its other box.
	Read []string
	// Shown are directories, without symbolic links, that the boxes of the conversation
	// show, read-only, beside what the settings say. They are not the user's secrets.
	Shown []string
	// Memory is a directory without symbolic links that the box of the agent shows beside
	// what the settings say, also below one that is hidden. Programs write in it, unless
	// ReadOnly is set. Empty, or not there: none.
	Memory string
}

// Box makes the box of a conversation. Where there is none for it, the error is an
// [LevelError].
func (m *Manager) Box(ctx context.Context, e Env) (sandbox.Box, error) {
	if m.lacking != nil && e.Profile != m.cfg.Scripted {
		return nil, m.lacking
	}
	if m.boxless() {
		return m.Outside(e.Conversation), nil
	}
	m.level.prove()
	select {
	case <-m.level.tested:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if _, err := m.level.now(); err != nil {
		return nil, err
	}
	return m.inside(e)
}

// boxless says that programs run outside of boxes, for those who may run at all.
func (m *Manager) boxless() bool { return m.cfg.Settings.Mode != On || m.lacking != nil }

// Outside is the box of the levels Off and External.
func (m *Manager) Outside(conversation string) sandbox.Box {
	level := sandbox.Off
	if m.cfg.Settings.Mode == External {
		level = sandbox.External
	}
	return sandbox.Outside(level, sandbox.Mark{State: m.cfg.Conversations, Conversation: conversation})
}

// Check says whether there can be a box with that workspace.
func (m *Manager) Check(workspace string) error {
	if m.boxless() {
		return nil
	}
	_, _, err := m.plan(workspace)
	return err
}

// unusedFor is how long nothing was written to a home directory that is removed although
// its workspace is not known.
const unusedFor = 30 * 24 * time.Hour

// Sweep removes the home directories of boxes of which gone says that their workspace is
// gone for good, and old ones that belong to none of the workspaces in use. It does not
// wait for that.
func (m *Manager) Sweep(gone func(workspace string) bool, used func() (workspaces []string, err error)) {
	left := boxes.LeftOver{Gone: gone, Before: m.cfg.Now().Add(-unusedFor), Used: func() ([]string, error) {
		workspaces, err := used()
		if err != nil {
			return nil, err
		}
		list, err := m.cfg.Grants.List()
		for _, g := range list {
			workspaces = append(workspaces, g.Workspace)
		}
		return workspaces, err
	}}
	m.wait.Go(func() {
		removed, err := boxes.SweepHomes(m.ctx, m.cfg.User.State, left)
		if err != nil {
			m.cfg.Log.Warn("cannot remove the home directories of sandboxes whose conversations are gone", "err", err)
		}
		if removed > 0 {
			m.cfg.Log.Info("removed the home directories of sandboxes whose conversations are gone", "count", removed)
		}
	})
}

// Close ends what the manager has begun. The boxes are closed by those who asked for
// them.
func (m *Manager) Close() error {
	m.cancel()
	m.wait.Wait()
	var err error
	if m.asker != nil {
		m.asker.Close()
	}
	if m.watcher != nil {
		err = m.watcher.Close()
	}
	return err
}

// private are the directories of ohgw and OpenHands below the user's home directory.
func private(u boxes.User) []string {
	return append(slices.Clone(u.Private), filepath.Join(u.Home, ".openhands"))
}

// directory is the path of a directory without symbolic links.
func directory(at string) (string, error) { return filepath.EvalSymlinks(at) }

// makeDir makes a directory for the box alone.
func makeDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

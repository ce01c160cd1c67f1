package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/browser/cdp"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	startLimit = 60 * time.Second // for the first answer of Chromium
	maxStderr  = 2000             // of what it says, for its error
)

// unprivileged is the user whose rights Chromium has if ohgw runs as root, which its own
// sandbox does not allow. On most systems this user owns no file.
const unprivileged = 65534

// runsAs is the user whose rights Chromium has; nil is that of this process.
func runsAs() *sandbox.User {
	if os.Geteuid() != 0 {
		return nil
	}
	return &sandbox.User{UID: unprivileged, GID: unprivileged}
}

// chromium is a running Chromium, which all conversations share.
type chromium struct {
	conn    *cdp.Conn // nil: it was not started
	process sandbox.Process
	box     sandbox.Box
	place   *place
	as      *sandbox.User
	path    string
	window  *Window        // nil: none is shown
	work    sync.WaitGroup // what ends with Chromium

	mu       sync.Mutex
	closing  bool
	sessions map[string]*Session // by their browser contexts
	tabs     map[string]*tab     // by their sessions of the protocol
}

// start starts Chromium in a directory of its own.
func start(ctx context.Context, path string, cfg Config) (*chromium, error) {
	c := &chromium{as: runsAs(), path: path, sessions: map[string]*Session{}, tabs: map[string]*tab{}}
	var err error
	if cfg.Window != nil {
		if c.window, err = cfg.Window(); err != nil {
			return nil, err
		}
	}
	if c.place, err = makePlace(cfg.Dir, c.as); err != nil {
		return nil, fmt.Errorf("make a directory for the browser: %w", err)
	}
	c.box = sandbox.Outside(sandbox.Off, cfg.Mark)
	if c.as != nil {
		c.box = sandbox.OutsideAs(*c.as, cfg.Mark)
	}
	stderr := &bounded.Tail{Max: maxStderr}
	if err := c.run(stderr); err != nil {
		c.Close()
		return nil, fault.New("the browser cannot be started", byHand(path), err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.do(ctx, "Target.setDiscoverTargets", object{"discover": true}, nil); err != nil {
		c.Close()
		said := stderr.String()
		if said != "" {
			err = fmt.Errorf("%w; it said: %s", err, said)
		}
		return nil, fault.New("the browser does not answer", hintFor(said, path), err)
	}
	return c, nil
}

// byHand is how to see what is wrong with a Chromium.
func byHand(path string) string {
	return "start it by hand to see why: " + path + " --headless --dump-dom about:blank"
}

// hintFor is what to do about a Chromium that did not start.
func hintFor(said, path string) string {
	if strings.Contains(said, "No usable sandbox") || strings.Contains(said, "sandbox") && strings.Contains(said, "namespace") {
		return "Chromium's own sandbox needs user namespaces or its helper: sudo apt-get install -y chromium-sandbox"
	}
	if strings.Contains(said, "Missing X server") || strings.Contains(said, "platform failed to initialize") {
		return "the display cannot be used: run ohgw in a terminal of your desktop, or leave out --headed and OHGW_BROWSER_HEADED"
	}
	return byHand(path)
}

// run starts the process. It is spoken to over two pipes and no port of this machine, so
// that no other program can control it, and so that it ends with ohgw, whatever ends that.
func (c *chromium) run(stderr io.Writer) error {
	var ours, theirs [3]*os.File // commands, answers, what it says
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			_ = f.Close() // of nil, too
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return err
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	var err error
	c.process, err = c.box.Start(context.Background(), sandbox.Program{
		Args: append([]string{c.path}, flags(c.place.dir, c.window)...), Env: environ(c.place.dir, c.window), Dir: c.place.dir,
		Files: []*os.File{nil, nil, theirs[2], theirs[0], theirs[1]},
	})
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return err
	}
	c.work.Go(func() {
		_, _ = io.Copy(stderr, ours[2])
		_ = ours[2].Close()
	})
	conn := cdp.New(ours[0], ours[1], c.event)
	c.conn = conn
	c.work.Go(func() {
		_, _ = c.process.Wait()
		_ = conn.Close()
	})
	c.work.Go(func() {
		<-conn.Done()
		_ = c.process.Kill()
	})
	return nil
}

// object is what a command is sent with.
type object map[string]any

// do sends a command to Chromium as a whole.
func (c *chromium) do(ctx context.Context, method string, params, result any) error {
	return c.call(ctx, "", method, params, result)
}

// call sends a command in a session of the protocol.
func (c *chromium) call(ctx context.Context, session, method string, params, result any) error {
	err := c.conn.Call(ctx, session, method, params, result)
	if errors.Is(err, cdp.ErrClosed) {
		return errLost
	}
	return err
}

// alive reports whether it still runs.
func (c *chromium) alive() bool {
	select {
	case <-c.conn.Done():
		return false
	default:
		return true
	}
}

// later does something beside the actions. Close waits for it.
func (c *chromium) later(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.work.Go(do)
	}
}

// Close ends Chromium, waits for it, and removes what it had on disk.
func (c *chromium) Close() {
	if c.process != nil {
		_ = c.process.Kill()
	}
	if c.conn != nil {
		_ = c.conn.Close()
	}
	_ = c.box.Close()
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.work.Wait()
	// Processes that the kernel is still ending may write once more.
	for range 20 {
		if c.place.remove() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// The limits of one conversation.
const (
	maxTabs     = 20
	actionLimit = 90 * time.Second // for one action in all
	pingLimit   = 5 * time.Second
)

// Session is the browser of one conversation. One action runs at a time.
type Session struct {
	pool *Pool
	cfg  SessionConfig

	acting sync.Mutex   // one action at a time; what follows is changed by them alone
	end    func() error // of the proxy
	leave  context.CancelFunc
	idle   *time.Timer
	closed bool

	attaching sync.Mutex // tabs are attached to one after the other

	mu        sync.Mutex // for what follows; actions read what only they change without it
	c         *chromium  // nil: none yet
	id        cdp.BrowserContextID
	home      context.Context // of chromedp, with the browser context
	dir       string          // for downloads
	tabs      []*tab
	current   *tab
	notes     []string // what happened meanwhile, for the next result
	downloads map[string]*download
}

// Close closes the conversation's pages.
func (s *Session) Close() error {
	s.acting.Lock()
	defer s.acting.Unlock()
	s.closed = true
	return s.drop()
}

// act runs an action in the current tab. What fails because Chromium has ended is
// told once; the next action has a new one.
func (s *Session) act(ctx context.Context, do func(ctx context.Context, t *tab) (string, error)) (string, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	if s.closed {
		return "", errors.New("the conversation is closed")
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	defer func() {
		if s.c != nil {
			s.idle = time.AfterFunc(idleSession, s.tire)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, actionLimit, errSlow)
	defer cancel()
	t, err := s.ready(ctx)
	if err != nil {
		return "", s.failed(ctx, err)
	}
	bounded, stop := s.c.bound(ctx)
	defer stop()
	text, err := do(bounded, t)
	if err != nil {
		return "", s.failed(ctx, s.c.lost(err))
	}
	return s.noted(bounded, text), nil
}

// errSlow says that an action was too slow.
var errSlow = fmt.Errorf("it took more than %d seconds", int(actionLimit.Seconds()))

// failed is the error of an action. A browser that has ended, or does not answer any
// more, is given up.
func (s *Session) failed(ctx context.Context, err error) error {
	if s.c == nil {
		return err
	}
	if errors.Is(err, errLost) {
		_ = s.drop()
		return errLost
	}
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errSlow) {
		err = cause
	} else {
		err = ctx.Err()
	}
	go s.check(s.c) //nolint:gosec // asks after the end of the action, for pingLimit
	return err
}

// check ends a Chromium that does not answer any more.
func (s *Session) check(c *chromium) {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	ctx, stop := c.bound(ctx)
	defer stop()
	if _, _, _, _, _, err := browser.GetVersion().Do(cdp.WithExecutor(ctx, c.browser)); err != nil {
		s.pool.broken(c)
	}
}

// tire closes what nobody has used for some time.
func (s *Session) tire() {
	s.acting.Lock()
	defer s.acting.Unlock()
	if s.c == nil || s.closed {
		return
	}
	_ = s.drop()
	s.note("The browser was closed because it was not used for some time. Its tabs, cookies and storage are gone.")
}

// drop closes the pages and lets go of Chromium.
func (s *Session) drop() error {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.c == nil {
		return nil
	}
	c := s.c
	c.mu.Lock()
	delete(c.sessions, s.id)
	c.mu.Unlock()
	if c.alive() && s.id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		_ = c.do(ctx, target.DisposeBrowserContext(s.id))
		cancel()
	}
	dir := s.dir
	s.mu.Lock()
	for _, t := range s.tabs {
		t.cancel()
	}
	s.tabs, s.current, s.downloads = nil, nil, nil
	s.c, s.id, s.dir = nil, "", ""
	s.mu.Unlock()
	if s.leave != nil {
		s.leave()
	}
	var err error
	if s.end != nil {
		err = s.end()
	}
	if dir != "" {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	s.end, s.leave = nil, nil
	s.pool.release(c)
	return err
}

// ready gives the current tab, and makes what is missing.
func (s *Session) ready(ctx context.Context) (*tab, error) {
	if s.c != nil && !s.c.alive() {
		return nil, errLost
	}
	if s.c == nil {
		if err := s.begin(ctx); err != nil {
			_ = s.drop()
			return nil, err
		}
	}
	s.mu.Lock()
	t := s.current
	if t != nil && t.crashed.Load() {
		t = nil
	}
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	return s.newTab(ctx)
}

// begin makes the browser context.
func (s *Session) begin(ctx context.Context) error {
	c, err := s.pool.acquire(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.c, s.downloads = c, map[string]*download{}
	s.mu.Unlock()
	address, end, err := s.cfg.Proxy()
	if err != nil {
		return fmt.Errorf("open the network of the browser: %w", err)
	}
	s.end = end
	dir, err := os.MkdirTemp(filepath.Join(c.dir, "downloads"), "c-")
	if err != nil {
		return err
	}
	bounded, stop := c.bound(ctx)
	defer stop()
	id, err := target.CreateBrowserContext().WithDisposeOnDetach(true).
		WithProxyServer("http://" + address).WithProxyBypassList("<-loopback>").Do(cdp.WithExecutor(bounded, c.browser))
	if err != nil {
		return c.lost(err)
	}
	home, leave := context.WithCancel(c.root)
	home, _ = chromedp.NewContext(home, chromedp.WithExistingBrowserContext(id))
	s.leave = leave
	s.mu.Lock()
	s.id, s.dir, s.home = id, dir, home
	s.mu.Unlock()
	c.mu.Lock()
	c.sessions[id] = s
	c.mu.Unlock()
	return c.do(ctx, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllowAndName).
		WithBrowserContextID(id).WithDownloadPath(dir).WithEventsEnabled(true))
}

// note keeps something for the next result.
func (s *Session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < 20 && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// noted is a result with what happened meanwhile.
func (s *Session) noted(ctx context.Context, text string) string {
	s.collect(ctx)
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	if len(notes) == 0 {
		return text
	}
	return text + "\n" + strings.Join(notes, "\n")
}

// event takes what happens in Chromium. It must not wait.
func (c *chromium) event(ev any) {
	switch e := ev.(type) {
	case *target.EventTargetCreated:
		if s := c.session(e.TargetInfo.BrowserContextID); s != nil && e.TargetInfo.Type == "page" {
			go s.opened(c, e.TargetInfo.TargetID)
		}
	case *target.EventTargetDestroyed:
		for _, s := range c.all() {
			s.gone(e.TargetID)
		}
	case *browser.EventDownloadWillBegin:
		for _, s := range c.all() {
			s.downloadBegins(e)
		}
	case *browser.EventDownloadProgress:
		for _, s := range c.all() {
			s.downloadGoesOn(e)
		}
	}
}

func (c *chromium) session(id cdp.BrowserContextID) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

func (c *chromium) all() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		list = append(list, s)
	}
	return list
}

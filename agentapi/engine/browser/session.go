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
)

// The limits of one conversation.
const (
	maxTabs     = 20
	maxNotes    = 20
	actionLimit = 90 * time.Second // for one action in all
	pingLimit   = 5 * time.Second
)

// Session is the browser of one conversation. One action runs at a time.
type Session struct {
	pool *Pool
	cfg  SessionConfig

	acting sync.Mutex   // one action at a time; what follows is changed by them alone
	end    func() error // of the proxy
	idle   *time.Timer
	closed bool

	attaching sync.Mutex // tabs are attached to one after the other

	mu        sync.Mutex // for what follows; actions read what only they change without it
	c         *chromium  // nil: none yet
	id        string     // of the browser context
	dir       string     // for downloads
	tabs      []*tab
	current   *tab
	notes     []string // what happened meanwhile, for the next result
	downloads map[string]*download
	uploads   []string // copies of files that pages were given
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
	text, err := do(ctx, t)
	if err != nil {
		return "", s.failed(ctx, err)
	}
	return s.noted(ctx, text), nil
}

// errSlow says that an action was too slow.
var errSlow = fmt.Errorf("it took more than %d seconds", int(actionLimit.Seconds()))

// failed returns the error of an action. A browser that has ended, or does not answer any
// more, is given up.
func (s *Session) failed(ctx context.Context, err error) error {
	if s.c == nil {
		return err
	}
	if !s.c.alive() {
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
	c := s.c
	c.later(func() { // asks after the end of the action, for pingLimit
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		defer cancel()
		if c.do(ctx, "Browser.getVersion", nil, nil) != nil {
			s.pool.broken(c)
		}
	})
	return err
}

// tire closes what was not used for some time.
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
	c.leave(s)
	if c.alive() && s.id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		_ = c.do(ctx, "Target.disposeBrowserContext", object{"browserContextId": s.id}, nil)
		cancel()
	}
	s.mu.Lock()
	left := append(s.uploads, s.dir)
	s.tabs, s.current, s.downloads, s.uploads = nil, nil, nil, nil
	s.c, s.id, s.dir = nil, "", ""
	s.mu.Unlock()
	var err error
	if s.end != nil {
		err = s.end()
	}
	for _, at := range left {
		if at != "" {
			err = errors.Join(err, os.RemoveAll(at))
		}
	}
	s.end = nil
	s.pool.release(c)
	return err
}

// ready returns the current tab, and makes what is missing.
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
	uid := os.Geteuid()
	if c.as != nil {
		uid = int(c.as.UID)
	}
	address, end, err := s.cfg.Proxy(uid)
	if err != nil {
		return fmt.Errorf("open the network of the browser: %w", err)
	}
	s.end = end
	dir, err := os.MkdirTemp(filepath.Join(c.place.dir, "downloads"), "c-")
	if err != nil {
		return err
	}
	if err := give(dir, c.as); err != nil {
		return err
	}
	var made struct {
		ID string `json:"browserContextId"`
	}
	err = c.do(ctx, "Target.createBrowserContext", object{
		"disposeOnDetach": true, "proxyServer": "http://" + address, "proxyBypassList": "<-loopback>",
	}, &made)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.id, s.dir = made.ID, dir
	s.mu.Unlock()
	c.enter(made.ID, s)
	return c.do(ctx, "Browser.setDownloadBehavior", object{
		"behavior": "allowAndName", "browserContextId": made.ID, "downloadPath": dir, "eventsEnabled": true,
	}, nil)
}

// note keeps something for the next result.
func (s *Session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < maxNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// noted returns a result with what happened meanwhile.
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

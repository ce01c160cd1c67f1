package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/inspector"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// scriptLimit is how long a script of ours may run in a page.
const scriptLimit = 15 * time.Second

// tab is a page.
type tab struct {
	s        *Session
	c        *chromium
	id       target.ID
	exec     cdp.Executor
	cancel   context.CancelFunc
	crashed  atomic.Bool            // or was given up
	dialogs  atomic.Int32           // that it has shown since it was navigated
	used     bool                   // it was navigated
	elements runtime.RemoteObjectID // of the last listing; "" for none
}

// short is the id that the model sees.
func (t *tab) short() string { return string(t.id[max(0, len(t.id)-4):]) }

var (
	errBusy    = errors.New("the page does not answer: its scripts keep it busy. Go to another page, or close the tab")
	errCrashed = errors.New("the page has crashed, or was given up. Its tab is closed; go to another page")
)

// do sends a command to the page.
func (t *tab) do(ctx context.Context, action doer) error {
	return t.c.lost(action.Do(cdp.WithExecutor(ctx, t.exec)))
}

// newTab opens an empty tab, which becomes the current one.
func (s *Session) newTab(ctx context.Context) (*tab, error) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.full() {
		return nil, fmt.Errorf("%d tabs are open, which is the limit. Close one with browser_close_tab", maxTabs)
	}
	bounded, stop := s.c.bound(ctx)
	defer stop()
	id, err := target.CreateTarget("about:blank").WithNewWindow(true).WithBrowserContextID(s.id).Do(cdp.WithExecutor(bounded, s.c.browser))
	if err != nil {
		return nil, s.c.lost(err)
	}
	t, err := s.attach(ctx, s.home, s.c, id)
	if err != nil {
		return nil, err
	}
	s.show(t)
	return t, nil
}

// show makes a tab the current one.
func (s *Session) show(t *tab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = t
}

func (s *Session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tabs) >= maxTabs
}

// find is a tab that is attached to already.
func (s *Session) find(id target.ID) *tab {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// attach takes control of a page.
func (s *Session) attach(ctx, home context.Context, c *chromium, id target.ID) (*tab, error) {
	at, cancel := context.WithCancel(home)
	at, leave := chromedp.NewContext(at, chromedp.WithTargetID(id))
	t := &tab{s: s, c: c, id: id, cancel: func() { cancel(); go leave() }}
	chromedp.ListenTarget(at, t.event)
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	if err := chromedp.Run(at); err != nil {
		t.cancel()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, c.lost(err)
	}
	t.exec = chromedp.FromContext(at).Target
	s.mu.Lock()
	s.tabs = append(s.tabs, t)
	s.mu.Unlock()
	// Nobody needs these events, and a page can make very many.
	for _, off := range []doer{network.Disable(), cdplog.Disable(), css.Disable(), dom.Disable()} {
		if err := t.do(ctx, off); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// opened takes a page that a page has opened. Of too many the newest is closed.
func (s *Session) opened(c *chromium, id target.ID) {
	s.attaching.Lock() // newTab attaches its own
	defer s.attaching.Unlock()
	s.mu.Lock()
	home := s.home
	current := s.c == c
	s.mu.Unlock()
	if !current || s.find(id) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	if s.full() {
		_ = c.do(ctx, target.CloseTarget(id))
		s.note(fmt.Sprintf("A page opened more than %d tabs; the newest was closed.", maxTabs))
		return
	}
	if t, err := s.attach(ctx, home, c, id); err == nil {
		s.note("A page opened a new tab, " + t.short() + ".")
	}
}

// gone takes that a page was closed.
func (s *Session) gone(id target.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.tabs {
		if t.id != id {
			continue
		}
		s.tabs = slices.Delete(s.tabs, i, i+1)
		if s.current == t {
			s.current = nil
			if len(s.tabs) > 0 {
				s.current = s.tabs[len(s.tabs)-1]
			}
		}
		t.cancel()
		return
	}
}

// event takes what happens in the page. It must not wait.
func (t *tab) event(ev any) {
	switch e := ev.(type) {
	case *page.EventJavascriptDialogOpening:
		go t.dialog(e)
	case *inspector.EventTargetCrashed:
		go t.giveUp("A page has crashed, and its tab was closed.")
	}
}

// giveUp closes the tab of a page with which nothing can be done. Its process is ended
// before: a page whose scripts never end would hold up others of its site, and closing.
func (t *tab) giveUp(why string) {
	if t.crashed.Swap(true) {
		return
	}
	t.s.note(why)
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	t.kill(ctx)
	_ = t.c.do(ctx, target.CloseTarget(t.id))
}

// kill ends the process of the page. It has no time to answer.
func (t *tab) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = page.Crash().Do(cdp.WithExecutor(ctx, t.exec))
}

// maxDialogs is how many dialogs of one page are answered.
const maxDialogs = 20

// dialog answers what a page asks: it may go on, and gets no text.
func (t *tab) dialog(e *page.EventJavascriptDialogOpening) {
	if t.dialogs.Add(1) > maxDialogs {
		t.giveUp(fmt.Sprintf("A page showed more than %d dialogs, and its tab was closed.", maxDialogs))
		return
	}
	accept := e.Type != page.DialogTypePrompt
	if e.Type != page.DialogTypeBeforeunload {
		answer := "OK"
		if !accept {
			answer = "Cancel"
		}
		t.s.note(fmt.Sprintf("The page showed a dialog (%s), which was answered with %s: %s", e.Type, answer, cut(e.Message, 500)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	_ = page.HandleJavaScriptDialog(accept).Do(cdp.WithExecutor(ctx, t.exec))
}

// cut is the beginning of a text.
func cut(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// world is our own place for scripts in the page, which its scripts cannot reach.
func (t *tab) world(ctx context.Context) (id runtime.ExecutionContextID, err error) {
	err = t.do(ctx, action(func(ctx context.Context) error {
		var err error
		id, err = page.CreateIsolatedWorld(cdp.FrameID(t.id)).WithWorldName("ohgw").Do(ctx)
		return err
	}))
	return id, err
}

// action is a function as a command.
type action func(ctx context.Context) error

// Do runs it.
func (f action) Do(ctx context.Context) error { return f(ctx) }

// eval runs a function of JavaScript with arguments, and gives what it returns.
func (t *tab) eval(ctx context.Context, function string, out any, args ...any) error {
	_, err := t.run(ctx, function, out, args)
	return err
}

// keep runs a function of JavaScript, and gives a reference to what it returns.
func (t *tab) keep(ctx context.Context, function string, args ...any) (runtime.RemoteObjectID, error) {
	return t.run(ctx, function, nil, args)
}

func (t *tab) run(ctx context.Context, function string, out any, args []any) (runtime.RemoteObjectID, error) {
	return t.script(ctx, func(ctx context.Context) (*runtime.RemoteObject, *runtime.ExceptionDetails, error) {
		id, err := t.world(ctx)
		if err != nil {
			return nil, nil, err
		}
		call := runtime.CallFunctionOn(function).WithExecutionContextID(id).WithReturnByValue(out != nil)
		if call.Arguments, err = arguments(args); err != nil {
			return nil, nil, err
		}
		return call.Do(ctx)
	}, out)
}

// on runs a function of JavaScript whose this is an object that was kept.
func (t *tab) on(ctx context.Context, object runtime.RemoteObjectID, function string, out any, args ...any) error {
	_, err := t.script(ctx, func(ctx context.Context) (*runtime.RemoteObject, *runtime.ExceptionDetails, error) {
		call := runtime.CallFunctionOn(function).WithObjectID(object).WithReturnByValue(true)
		var err error
		if call.Arguments, err = arguments(args); err != nil {
			return nil, nil, err
		}
		return call.Do(ctx)
	}, out)
	return err
}

func arguments(args []any) (list []*runtime.CallArgument, err error) {
	for _, a := range args {
		data, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		list = append(list, &runtime.CallArgument{Value: data})
	}
	return list, nil
}

// script runs something in the page that its scripts may hold up.
func (t *tab) script(ctx context.Context, run func(context.Context) (*runtime.RemoteObject, *runtime.ExceptionDetails, error), out any) (runtime.RemoteObjectID, error) {
	if t.crashed.Load() {
		return "", errCrashed
	}
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	var result *runtime.RemoteObject
	var thrown *runtime.ExceptionDetails
	err := t.do(limited, action(func(ctx context.Context) error {
		var err error
		result, thrown, err = run(ctx)
		return err
	}))
	switch {
	case t.crashed.Load():
		return "", errCrashed
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		go t.terminate() //nolint:gosec // asks after the end of the action
		return "", errBusy
	case err != nil:
		return "", err
	case thrown != nil:
		return "", fmt.Errorf("a script in the page failed: %s", cut(strings.TrimSpace(thrown.Error()), 300))
	case result == nil:
		return "", errors.New("a script in the page gave nothing")
	case out == nil:
		return result.ObjectID, nil
	}
	return "", json.Unmarshal(result.Value, out)
}

// terminate stops the scripts of a page that does not answer.
func (t *tab) terminate() {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	_ = runtime.TerminateExecution().Do(cdp.WithExecutor(ctx, t.exec))
}

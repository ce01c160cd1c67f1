package browser

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// How long pages are waited for.
const (
	loadLimit   = 30 * time.Second // until a page answers
	settleLimit = 8 * time.Second  // until it is complete; some never are
	settleFirst = 120 * time.Millisecond
)

// maxShot is the size from which on a picture is made as JPEG.
const maxShot = 1 << 20

var (
	//go:embed js/state.js
	stateScript string
	//go:embed js/describe.js
	describeScript string
	//go:embed js/point.js
	pointScript string
	//go:embed js/fill.js
	fillScript string
)

// allowedURL checks an address that the model wants to see.
func allowedURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "about:blank" {
		return text, nil
	}
	if !strings.Contains(text, "://") && !strings.HasPrefix(text, "/") {
		if head, rest, _ := strings.Cut(text, ":"); rest == "" || strings.ContainsAny(head, ".") || head == "localhost" || isPort(rest) {
			text = "https://" + text
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("only addresses that begin with http:// or https:// can be opened, and not %s", cut(text, 200))
	}
	return text, nil
}

func isPort(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

// Navigate opens a page.
func (s *Session) Navigate(ctx context.Context, address string, newTab bool) (string, error) {
	at, err := allowedURL(address)
	if err != nil {
		return "", err
	}
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		if newTab && !s.blank() {
			if t, err = s.newTab(ctx); err != nil {
				return "", err
			}
		}
		if err := t.navigate(ctx, at); err != nil {
			return "", err
		}
		if newTab {
			return "Opened new tab with URL: " + address, nil
		}
		return "Navigated to: " + address, nil
	})
}

// blank reports whether the only tab is the empty one that every session begins with.
func (s *Session) blank() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tabs) == 1 && !s.current.used
}

// navigate goes to an address, and waits for the page.
func (t *tab) navigate(ctx context.Context, at string) error {
	t.elements, t.used = "", true
	t.dialogs.Store(0)
	limited, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	var failed string
	var isDownload bool
	err := t.do(limited, action(func(ctx context.Context) error {
		var err error
		_, _, failed, isDownload, err = page.Navigate(at).Do(ctx)
		return err
	}))
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		stop, cancel := context.WithTimeout(ctx, pingLimit)
		defer cancel()
		_ = t.do(stop, page.StopLoading())
		if t.eval(stop, "() => true", new(bool)) != nil {
			go t.giveUp("The page before did not answer, either, and its tab was closed.") //nolint:gosec // after the end of the action
		}
		return fmt.Errorf("%s did not answer in %d seconds", at, int(loadLimit.Seconds()))
	case err != nil:
		return err
	case isDownload || failed == "net::ERR_ABORTED":
		t.waitDownload(ctx)
		return nil
	case failed != "":
		return fmt.Errorf("navigation failed: %s%s", failed, explained(failed))
	}
	return t.settle(ctx)
}

// waitDownload waits until Chromium tells of a download that has just begun.
func (t *tab) waitDownload(ctx context.Context) {
	for range 20 {
		t.s.mu.Lock()
		n := len(t.s.downloads)
		t.s.mu.Unlock()
		if n > 0 || sleep(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}

// explained says what an error of Chromium is about.
func explained(failed string) string {
	switch failed {
	case "net::ERR_TUNNEL_CONNECTION_FAILED":
		return " (the host was refused, or cannot be reached)"
	case "net::ERR_TOO_MANY_REDIRECTS":
		return " (the site redirects in a circle)"
	case "net::ERR_INVALID_AUTH_CREDENTIALS":
		return " (the site asks for a name and a password in a window of the browser, which this browser does not have)"
	case "net::ERR_UNSAFE_REDIRECT":
		return " (the site redirects to an address outside of the web)"
	}
	return ""
}

// loadedScript is the state of the page, or "large" for one that has more characters
// already than anybody will read, while it is still arriving.
const loadedScript = `limit => {
  if (document.readyState !== 'loading') return document.readyState;
  const nodes = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let size = 0, node; node = nodes.nextNode();) {
    size += 10 + (node.nodeType === 3 ? node.length : 0);
    if (size > limit) return 'large';
  }
  return 'loading';
}`

// settle waits until the page is complete, or for some time.
func (t *tab) settle(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	pause, answers := settleFirst, true
	for {
		if sleep(limited, pause) != nil {
			if ctx.Err() != nil || answers {
				return ctx.Err()
			}
			t.s.note("The page is busy; what was still arriving was not loaded.")
			return t.do(ctx, page.StopLoading())
		}
		pause = 60 * time.Millisecond
		var state string
		err := t.eval(limited, loadedScript, &state, maxPage)
		answers = err == nil
		switch {
		case err == nil && state == "large":
			t.s.note(fmt.Sprintf("The page is larger than %s characters; the rest was not loaded.", thousands(maxPage)))
			return t.do(limited, page.StopLoading())
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errLost), errors.Is(err, errCrashed):
			return err
		case err == nil && state == "complete":
			return nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// point is where an element is.
type point struct {
	Found   bool    `json:"found"`
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Covered bool    `json:"covered"`
	Href    string  `json:"href"`
	File    bool    `json:"file"`
}

// at finds an element of the last listing and scrolls to it.
func (t *tab) at(ctx context.Context, index int) (p point, err error) {
	if t.elements == "" {
		return p, nil
	}
	err = t.on(ctx, t.elements, pointScript, &p, index)
	if gone(err) {
		t.elements = ""
		return point{}, nil
	}
	return p, err
}

// gone reports whether the page of a kept object is not there any more.
func gone(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "Could not find object") ||
		strings.Contains(err.Error(), "Cannot find object"))
}

func missing(index int) string { return fmt.Sprintf("Element with index %d not found", index) }

// Click clicks an element of the last listing.
func (s *Session) Click(ctx context.Context, index int, newTab bool) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		p, err := t.at(ctx, index)
		switch {
		case err != nil:
			return "", err
		case !p.Found:
			return missing(index), nil
		case p.File:
			return "", errors.New("this is a field for files, and files cannot be uploaded with the browser tools")
		case newTab && p.Href != "":
			return s.openLink(ctx, index, p.Href)
		}
		if err := t.click(ctx, index, p); err != nil {
			return "", err
		}
		if newTab {
			return fmt.Sprintf("Clicked element %d (new tab not supported for non-link elements)", index), nil
		}
		return fmt.Sprintf("Clicked element %d", index), nil
	})
}

// openLink opens the address of a link in a new tab.
func (s *Session) openLink(ctx context.Context, index int, href string) (string, error) {
	at, err := allowedURL(href)
	if err != nil {
		return "", err
	}
	t, err := s.newTab(ctx)
	if err != nil {
		return "", err
	}
	if err := t.navigate(ctx, at); err != nil {
		return "", err
	}
	return fmt.Sprintf("Clicked element %d and opened in new tab %s...", index, at[:min(20, len(at))]), nil
}

// click presses the mouse where an element is, or, if something covers it, clicks it
// as a script does.
func (t *tab) click(ctx context.Context, index int, p point) error {
	if p.Covered {
		if err := t.on(ctx, t.elements, "function(i) { this[i].click(); return true }", new(bool), index); err != nil && !gone(err) {
			return err
		}
		return t.settle(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	if err := t.do(limited, page.BringToFront()); err != nil { // a page that is hidden takes seconds for it
		return err
	}
	for _, kind := range []input.MouseType{input.MouseMoved, input.MousePressed, input.MouseReleased} {
		event := input.DispatchMouseEvent(kind, p.X, p.Y)
		if kind != input.MouseMoved {
			event = event.WithButton(input.Left).WithClickCount(1)
		}
		if err := t.do(limited, event); err != nil {
			if ctx.Err() == nil && limited.Err() != nil {
				return errBusy
			}
			return err
		}
	}
	return t.settle(ctx)
}

// Type puts a text into a field of the last listing.
func (s *Session) Type(ctx context.Context, index int, text string) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		p, err := t.at(ctx, index)
		switch {
		case err != nil:
			return "", err
		case !p.Found:
			return missing(index), nil
		}
		line := strings.TrimRight(text, "\n")
		var filled struct {
			Typed bool   `json:"typed"` // the text is to be typed
			Done  bool   `json:"done"`  // the field has it already
			Enter bool   `json:"enter"` // a field of one line
			Why   string `json:"why"`
		}
		if err := t.on(ctx, t.elements, fillScript, &filled, index, text); err != nil {
			return "", err
		}
		switch {
		case filled.Done:
		case filled.Typed:
			typed := text
			if filled.Enter {
				typed = line
			}
			if err := t.do(ctx, input.InsertText(typed)); err != nil {
				return "", err
			}
			if filled.Enter && line != text {
				if err := t.enter(ctx); err != nil {
					return "", err
				}
			}
		default:
			return "", fmt.Errorf("element %d takes no text: %s", index, filled.Why)
		}
		return fmt.Sprintf("Typed %s into element %d", named(text), index), nil
	})
}

// enter presses the key that sends a form.
func (t *tab) enter(ctx context.Context) error {
	for _, kind := range []input.KeyType{input.KeyDown, input.KeyUp} {
		key := input.DispatchKeyEvent(kind).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13)
		if kind == input.KeyDown {
			key = key.WithText("\r")
		}
		if err := t.do(ctx, key); err != nil {
			return err
		}
	}
	return t.settle(ctx)
}

// named is a typed text as the result names it: not if it may be a secret.
func named(text string) string {
	_, domain, mail := strings.Cut(text, "@")
	has := func(f func(rune) bool) bool { return strings.IndexFunc(text, f) >= 0 }
	switch n := len([]rune(text)); {
	case n >= 6 && mail && strings.Contains(domain, "."):
		return "<email>"
	case n >= 16 && has(unicode.IsDigit) && has(unicode.IsLetter) && strings.ContainsAny(text, ".-_"):
		return "<credential>"
	}
	return "'" + text + "'"
}

// shown is what the model is told of a tab.
type shown struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// State lists the elements of the page that can be used, and makes a picture.
func (s *Session) State(ctx context.Context, picture bool) (text string, png []byte, err error) {
	text, err = s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		var state struct {
			shown

			Tabs     []shown         `json:"tabs"`
			Elements json.RawMessage `json:"interactive_elements"`
		}
		if t.elements, err = t.keep(ctx, stateScript); err != nil {
			return "", err
		}
		if err := t.on(ctx, t.elements, describeScript, &state); err != nil {
			return "", err
		}
		tabs, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		for _, one := range tabs {
			state.Tabs = append(state.Tabs, shown{one.URL, one.Title})
		}
		if picture {
			if png, err = t.picture(ctx); err != nil {
				return "", err
			}
		}
		return indented(state)
	})
	return text, png, err
}

// picture is what the page looks like.
func (t *tab) picture(ctx context.Context) (data []byte, err error) {
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	err = t.do(limited, action(func(ctx context.Context) error {
		var err error
		if data, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx); err != nil || len(data) <= maxShot {
			return err
		}
		data, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatJpeg).WithQuality(75).Do(ctx)
		return err
	}))
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, errBusy
	}
	return data, err
}

// indented is JSON for the model.
func indented(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// Scroll moves the page by a part of its window.
func (s *Session) Scroll(ctx context.Context, up bool) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		by, word := 500, "down"
		if up {
			by, word = -500, "up"
		}
		if err := t.eval(ctx, "by => { scrollBy({top: by, behavior: 'instant'}); return true }", new(bool), by); err != nil {
			return "", err
		}
		return "Scrolled " + word, nil
	})
}

// Back goes to the page before.
func (s *Session) Back(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		t.elements = ""
		var at int64
		var entries []*page.NavigationEntry
		err := t.do(ctx, action(func(ctx context.Context) error {
			var err error
			at, entries, err = page.GetNavigationHistory().Do(ctx)
			return err
		}))
		if err != nil {
			return "", err
		}
		if at < 1 || int(at) > len(entries)-1 {
			return "", errors.New("there is no page to go back to")
		}
		if err := t.do(ctx, page.NavigateToHistoryEntry(entries[at-1].ID)); err != nil {
			return "", err
		}
		return "Navigated back", t.settle(ctx)
	})
}

// one is a tab in the list.
type one struct {
	ID    string `json:"tab_id"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

// list are the open tabs.
func (s *Session) list(ctx context.Context) ([]one, error) {
	infos, err := target.GetTargets().Do(cdp.WithExecutor(ctx, s.c.browser))
	if err != nil {
		return nil, s.c.lost(err)
	}
	byID := map[target.ID]*target.Info{}
	for _, info := range infos {
		byID[info.TargetID] = info
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []one{}
	for _, t := range s.tabs {
		if info := byID[t.id]; info != nil {
			list = append(list, one{t.short(), cut(info.URL, 2000), cut(info.Title, 300)})
		}
	}
	return list, nil
}

// Tabs lists the open tabs.
func (s *Session) Tabs(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		list, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		return indented(list)
	})
}

// named finds a tab by the id that the model has.
func (s *Session) named(id string) (*tab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tabs {
		if t.short() == id {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no tab %q: browser_list_tabs lists them", cut(id, 20))
}

// SwitchTab makes a tab the one that actions are for.
func (s *Session) SwitchTab(ctx context.Context, id string) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		t, err := s.named(id)
		if err != nil {
			return "", err
		}
		if err := s.c.do(ctx, target.ActivateTarget(t.id)); err != nil {
			return "", err
		}
		s.show(t)
		at, err := s.address(ctx, t)
		return "Switched to tab " + id + ": " + at, err
	})
}

// address is where a tab is.
func (s *Session) address(ctx context.Context, t *tab) (string, error) {
	list, err := s.list(ctx)
	for _, one := range list {
		if one.ID == t.short() {
			return one.URL, err
		}
	}
	return "about:blank", err
}

// CloseTab closes a tab.
func (s *Session) CloseTab(ctx context.Context, id string) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		t, err := s.named(id)
		if err != nil {
			return "", err
		}
		if err := s.c.do(ctx, target.CloseTarget(t.id)); err != nil {
			return "", err
		}
		s.gone(t.id)
		now, err := s.ready(ctx)
		if err != nil {
			return "", err
		}
		at, err := s.address(ctx, now)
		return "Closed tab # " + id + ", now on " + at, err
	})
}

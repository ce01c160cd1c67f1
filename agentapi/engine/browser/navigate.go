package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/pause"
)

// How long pages are waited for.
const (
	loadLimit   = 30 * time.Second // until a page answers
	settleLimit = 8 * time.Second  // until it is complete; some never are
	settleFirst = 120 * time.Millisecond
	settleNext  = 60 * time.Millisecond
)

// blankPage is the page of a new tab.
const blankPage = "about:blank"

// allowedURL checks an address that the model wants to see.
func allowedURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == blankPage {
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
			return t.titled(ctx, "Opened new tab with URL: "+address), nil
		}
		return t.titled(ctx, "Navigated to: "+address), nil
	})
}

// blank reports whether the only tab is the empty one that every session begins with.
func (s *Session) blank() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tabs) == 1 && s.current != nil && !s.current.used
}

// navigated is Chromium's answer to Page.navigate.
type navigated struct {
	Failed   string `json:"errorText"`
	Download bool   `json:"isDownload"`
}

// navigate goes to an address, and waits for the page.
func (t *tab) navigate(ctx context.Context, at string) error {
	t.elements, t.used = "", true
	t.dialogs.Store(0)
	limited, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	var n navigated
	err := t.do(limited, "Page.navigate", object{"url": at}, &n)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return t.unanswered(ctx, at)
	case err != nil:
		return err
	case n.Download || n.Failed == "net::ERR_ABORTED":
		t.waitDownload(ctx)
		return nil
	case n.Failed != "":
		return fmt.Errorf("navigation failed: %s%s", n.Failed, explained(n.Failed))
	}
	return t.settle(ctx)
}

// unanswered stops loading an address that does not answer.
func (t *tab) unanswered(ctx context.Context, at string) error {
	stop, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	_ = t.do(stop, "Page.stopLoading", nil, nil)
	if t.eval(stop, "() => true", new(bool)) != nil {
		t.c.later(func() { t.giveUp("The page before did not answer, either, and its tab was closed.") })
	}
	return fmt.Errorf("%s did not answer in %d seconds", cut(at, maxAddress), int(loadLimit.Seconds()))
}

// waitDownload waits until Chromium reports a download that has just begun.
func (t *tab) waitDownload(ctx context.Context) {
	for range 20 {
		t.s.mu.Lock()
		n := len(t.s.downloads)
		t.s.mu.Unlock()
		if n > 0 || pause.For(ctx, 50*time.Millisecond) != nil {
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

// loadedScript returns the state of the page, or "large" for one that has more characters
// already than are ever read, while it is still arriving.
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
	wait, answers := settleFirst, true
	for {
		if pause.For(limited, wait) != nil {
			if ctx.Err() != nil || answers {
				return ctx.Err()
			}
			t.s.note("The page is busy; what was still arriving was not loaded.")
			return t.do(ctx, "Page.stopLoading", nil, nil)
		}
		wait = settleNext
		var state string
		err := t.eval(limited, loadedScript, &state, maxPage)
		answers = err == nil
		switch {
		case err == nil && state == "large":
			t.s.note(fmt.Sprintf("The page is larger than %s characters; the rest was not loaded.", thousands(maxPage)))
			return t.do(limited, "Page.stopLoading", nil, nil)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errLost), errors.Is(err, errCrashed):
			return err
		case err == nil && state == "complete":
			return nil
		}
	}
}

// Back goes to the page before.
func (s *Session) Back(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		t.elements = ""
		var history struct {
			At      int `json:"currentIndex"`
			Entries []struct {
				ID int64 `json:"id"`
			} `json:"entries"`
		}
		if err := t.do(ctx, "Page.getNavigationHistory", nil, &history); err != nil {
			return "", err
		}
		if history.At < 1 || history.At >= len(history.Entries) {
			return "", errors.New("there is no page to go back to")
		}
		if err := t.do(ctx, "Page.navigateToHistoryEntry", object{"entryId": history.Entries[history.At-1].ID}, nil); err != nil {
			return "", err
		}
		if err := t.settle(ctx); err != nil {
			return "", err
		}
		return t.titled(ctx, "Navigated back"), nil
	})
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

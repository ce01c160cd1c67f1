package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/agentapi/engine/browser/cdp"
)

var (
	//go:embed js/point.js
	pointScript string
	//go:embed js/fill.js
	fillScript string
)

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
	if pageGone(err) {
		t.elements = ""
		return point{}, nil
	}
	return p, err
}

// pageGone reports whether the page of a kept object is not there any more.
func pageGone(err error) bool {
	refused, ok := errors.AsType[*cdp.Error](err)
	return ok && (strings.Contains(refused.Message, "Cannot find context") || strings.Contains(refused.Message, "ould not find object") ||
		strings.Contains(refused.Message, "Cannot find object"))
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
			return "", errors.New("this is a field for files: put the path of a file of the workspace into it with browser_type")
		case newTab && p.Href != "":
			return s.openLink(ctx, index, p.Href)
		}
		if err := t.click(ctx, index, p); err != nil {
			return "", err
		}
		if newTab {
			return t.titled(ctx, fmt.Sprintf("Clicked element %d (new tab not supported for non-link elements)", index)), nil
		}
		return t.titled(ctx, fmt.Sprintf("Clicked element %d", index)), nil
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
	return t.titled(ctx, fmt.Sprintf("Clicked element %d and opened in new tab %s...", index, at[:min(20, len(at))])), nil
}

// click presses the mouse where an element is, or, if something covers it, clicks it
// as a script does.
func (t *tab) click(ctx context.Context, index int, p point) error {
	if p.Covered {
		err := t.on(ctx, t.elements, "function(i) { this[i].click(); return true }", new(bool), index)
		if err != nil && !pageGone(err) {
			return err
		}
		return t.settle(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	if err := t.do(limited, "Page.bringToFront", nil, nil); err != nil { // a page that is hidden takes seconds for it
		return err
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		event := object{"type": kind, "x": p.X, "y": p.Y}
		if kind != "mouseMoved" {
			event["button"], event["clickCount"] = "left", 1
		}
		if err := t.do(limited, "Input.dispatchMouseEvent", event, nil); err != nil {
			if ctx.Err() == nil && limited.Err() != nil {
				return errBusy
			}
			return err
		}
	}
	return t.settle(ctx)
}

// filled is what came of a text for a field.
type filled struct {
	Typed bool   `json:"typed"` // the text is to be typed
	Done  bool   `json:"done"`  // the field has it already
	Enter bool   `json:"enter"` // a field of one line
	Why   string `json:"why"`
}

// Type puts a text into a field of the last listing, or a file into a field for files.
func (s *Session) Type(ctx context.Context, index int, text string) (string, error) {
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		p, err := t.at(ctx, index)
		switch {
		case err != nil:
			return "", err
		case !p.Found:
			return missing(index), nil
		case p.File:
			err = s.upload(ctx, t, index, text)
		default:
			err = t.fill(ctx, index, text)
		}
		if err != nil {
			return "", err
		}
		done := fmt.Sprintf("Typed %s into element %d", named(text), index)
		if !strings.HasSuffix(text, "\n") {
			return done, nil
		}
		return t.titled(ctx, done), nil // the Enter key may have sent a form
	})
}

// fill puts a text into a field. A line break at its end presses Enter in a field of one
// line.
func (t *tab) fill(ctx context.Context, index int, text string) error {
	var f filled
	if err := t.on(ctx, t.elements, fillScript, &f, index, text); err != nil {
		return err
	}
	if f.Done {
		return nil
	}
	if !f.Typed {
		return fmt.Errorf("element %d takes no text: %s", index, f.Why)
	}
	line := strings.TrimRight(text, "\n")
	typed := text
	if f.Enter {
		typed = line
	}
	if err := t.do(ctx, "Input.insertText", object{"text": typed}, nil); err != nil {
		return err
	}
	if f.Enter && line != text {
		return t.enter(ctx)
	}
	return nil
}

// enter presses the key that sends a form.
func (t *tab) enter(ctx context.Context) error {
	for _, kind := range []string{"keyDown", "keyUp"} {
		key := object{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
		if kind == "keyDown" {
			key["text"] = "\r"
		}
		if err := t.do(ctx, "Input.dispatchKeyEvent", key, nil); err != nil {
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

package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// summary is the line about a turn that came to its end.
func summary(actions int, took time.Duration, d gateway.Done) string {
	var parts []string
	switch actions {
	case 0:
	case 1:
		parts = append(parts, "1 action")
	default:
		parts = append(parts, strconv.Itoa(actions)+" actions")
	}
	parts = append(parts, duration(took))
	if d.Usage.Prompt > 0 || d.Usage.Completion > 0 {
		parts = append(parts, tokens(d.Usage.Prompt)+" → "+tokens(d.Usage.Completion)+" tokens")
	}
	if d.Usage.Cost != nil {
		parts = append(parts, money(*d.Usage.Cost))
	}
	return strings.Join(parts, " · ")
}

// place is where the questions go, for people.
func place(cfg Config) string {
	if cfg.Place.Title == "" {
		return "the gateway"
	}
	title := safe.Line(cfg.Place.Title)
	if strings.HasPrefix(title, "in ") {
		return "the gateway " + title
	}
	return title
}

// atPlace is the same as an answer to "where".
func atPlace(cfg Config) string {
	if title := safe.Line(cfg.Place.Title); strings.HasPrefix(title, "in ") {
		return title
	}
	return "at " + place(cfg)
}

func (m *model) elapsed(t *turn) string { return duration(m.cfg.Now().Sub(t.begun)) }

// duration is d as people say it.
func duration(d time.Duration) string {
	switch s := int(d.Round(time.Second) / time.Second); {
	case d < 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case s < 60:
		return strconv.Itoa(s) + " s"
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	}
}

// tokens is a number with a comma after each thousand.
func tokens(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short is a number of tokens for the status line.
func short(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}

func money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// title is the beginning of a question, for lists.
func title(s string) string { return wrap.Cut(safe.Line(s), 60) }

func imageLabel(img Image) string {
	return safe.Line(img.Name) + " · " + editor.Size(img.Size)
}

// asGateway makes a gateway's error of any.
func asGateway(err error) *gateway.Error {
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		return e
	}
	if err == nil {
		err = errNoEnd
	}
	return &gateway.Error{Kind: gateway.Failed, Message: err.Error(), Err: err}
}

// sentence makes an error's text the beginning of a line for people.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "It did not work, and nobody said why."
	}
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// nextStep says what to do about a failure; again is how to ask once more,
// such as "press r".
func nextStep(cfg Config, e *gateway.Error, again string) string {
	switch e.Kind {
	case gateway.Unreachable:
		return "The question is asked again by itself as soon as " + place(cfg) + " answers; it never runs twice."
	case gateway.Locked:
		return "Get a key that is accepted" + orElse(cfg.Hints.Locked) + "; then " + again + "."
	case gateway.Busy:
		if e.RetryAfter > 0 {
			return sentence(again) + " to ask again; there may be room in " + duration(e.RetryAfter.Round(time.Second)) + "."
		}
		return sentence(again) + " to ask again a little later."
	case gateway.Refused:
		return "Change the question, pick another model, or " + again + " to ask again."
	case gateway.Stranger:
		return "Is " + place(cfg) + " the right address? " + sentence(again) + " to ask again."
	case gateway.Failed:
	}
	return sentence(again) + " to ask again, or write something else."
}

// orElse lists commands in a sentence.
func orElse(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return " (" + strings.Join(commands, ", or ") + ")"
}

// cardLines are the actions that wait; from a gateway that does not list them,
// the list in its notice, or all of that.
func cardLines(waiting []gateway.Action, notice string) []string {
	var items []string
	for _, a := range waiting {
		if line := safe.Line(a.Line); line != "" {
			items = append(items, line)
		} else {
			items = append(items, safe.Line(a.Tool))
		}
	}
	if len(items) > 0 {
		return items
	}
	for line := range strings.Lines(notice) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		return items
	}
	if line := safe.Line(notice); line != "" {
		return []string{line}
	}
	return []string{"an action that it does not name"}
}

// ago is how long something is past.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days ago"
}

func lineCount(s string) string {
	n := strings.Count(strings.TrimRight(s, "\n"), "\n") + 1
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

func trimEnd(s string) string { return strings.TrimRight(s, "\r\n") }

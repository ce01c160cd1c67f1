package session

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// Summary writes the line about a turn that has its answer.
func (e End) Summary() string {
	var parts []string
	switch actions := e.Turn.Answer.Actions(); actions {
	case 0:
	case 1:
		parts = append(parts, "1 action")
	default:
		parts = append(parts, strconv.Itoa(actions)+" actions")
	}
	if failed := e.Turn.Answer.FailedActions(); failed > 0 {
		parts = append(parts, strconv.Itoa(failed)+" failed")
	}
	parts = append(parts, human.Duration(e.Took))
	if u := e.Done.Usage; u.Prompt > 0 || u.Completion > 0 {
		parts = append(parts, human.Tokens(u.Prompt)+" → "+human.Tokens(u.Completion)+" tokens")
	}
	if cost := e.Done.Usage.Cost; cost != nil {
		parts = append(parts, human.Money(*cost))
	}
	return strings.Join(parts, " · ")
}

// Title is the beginning of a question, for lists.
func Title(s string) string { return wrap.Cut(safe.Line(s), 60) }

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

// nextStep says what to do about a failure.
func nextStep(cfg Config, e *gateway.Error) string {
	again := cfg.Again
	switch e.Kind {
	case gateway.Unreachable:
		if !cfg.Redials {
			return again + " to ask again; it never runs twice."
		}
		return "The question is sent again automatically as soon as " + cfg.Place.Name() + " answers; it never runs twice."
	case gateway.Locked:
		return "Get a valid key" + OrElse(cfg.Hints.Locked) + "; then " + again + "."
	case gateway.Busy:
		if e.RetryAfter > 0 {
			return human.Sentence(again) + " to send it again; a slot may be free in " + human.Duration(e.RetryAfter.Round(time.Second)) + "."
		}
		return human.Sentence(again) + " to send it again a little later."
	case gateway.Refused:
		return "Change the question, pick another model, or " + again + " to send it again."
	case gateway.Stranger:
		return "Is " + cfg.Place.Name() + " the right address? " + human.Sentence(again) + " to send it again."
	case gateway.Failed:
	}
	return human.Sentence(again) + " to send it again, or type something else."
}

// OrElse lists commands in a sentence.
func OrElse(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return " (" + strings.Join(commands, ", or ") + ")"
}

// pending lists the actions that wait; from a gateway that does not list them, the
// list in its notice, or all of that.
func pending(waiting []gateway.Action, notice string) []string {
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
	return []string{"an unnamed action"}
}

package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Script parses the directives in text (see the package comment) into the
// replies they stand for. Text without directives has no replies.
func Script(text string) ([]Reply, error) {
	var replies []Reply
	for i, d := range lastRun(text) {
		if i == 0 || d.gap == "then" {
			replies = append(replies, Reply{})
		}
		if err := d.apply(&replies[len(replies)-1]); err != nil {
			return nil, fmt.Errorf("directive [[%s]]: %w", d.text(), err)
		}
	}
	return replies, nil
}

// directive is one [[verb arg]] with the words that stand before it.
type directive struct {
	gap, verb, arg string
}

func (d directive) text() string { return strings.TrimSpace(d.verb + " " + d.arg) }

// lastRun returns the last directives of text that are parted by spaces on one
// line or by "then" alone.
func lastRun(text string) []directive {
	var run []directive
	for {
		before, rest, found := strings.Cut(text, "[[")
		if !found {
			return run
		}
		body, after, closed := cutDirective(rest)
		if !closed {
			return run
		}
		verb, arg, _ := strings.Cut(body, " ")
		d := directive{gap: strings.TrimSpace(before), verb: verb, arg: strings.TrimSpace(arg)}
		sameLine := d.gap == "" && !strings.Contains(before, "\n")
		if !sameLine && d.gap != "then" {
			run = nil
		}
		run = append(run, d)
		text = after
	}
}

// cutDirective splits what follows "[[" at the "]]" that ends the directive:
// the first one, unless it belongs to a tool's JSON arguments.
func cutDirective(s string) (body, after string, closed bool) {
	from := 0
	if call, ok := strings.CutPrefix(s, "tool "); ok {
		name, args, _ := strings.Cut(call, " ")
		decoder := json.NewDecoder(strings.NewReader(args))
		if decoder.Decode(new(json.RawMessage)) == nil {
			from = len("tool ") + len(name) + len(" ") + int(decoder.InputOffset())
		}
	}
	if !strings.HasPrefix(strings.TrimSpace(s[from:]), "]]") {
		from = 0
	}
	end := strings.Index(s[from:], "]]")
	if end < 0 {
		return "", "", false
	}
	return s[:from+end], s[from+end+len("]]"):], true
}

// apply adds what the directive says to r.
func (d directive) apply(r *Reply) (err error) {
	switch d.verb {
	case "say":
		r.Text += d.arg
	case "think":
		r.Reasoning += d.arg
	case "tool":
		name, args, _ := strings.Cut(d.arg, " ")
		if name == "" {
			return errors.New("a tool needs a name")
		}
		r.Calls = append(r.Calls, Call{Name: name, Args: strings.TrimSpace(args)})
	case "finish":
		r.Calls = append(r.Calls, finishCall(d.arg))
	case "slow":
		return d.slow(r)
	case "pace":
		r.Pace, err = time.ParseDuration(d.arg)
	case "wait":
		r.Wait, err = time.ParseDuration(d.arg)
	case "usage":
		return d.usage(r)
	case "stop":
		r.Stop = d.arg
	case "fail":
		return d.fail(r)
	case "hang":
		r.End = Hang
	case "cut":
		r.End = Cut
	case "garble":
		r.End = Garble
	case "end":
		r.End = Stop
	case "drop":
		r.End = Drop
	case "error":
		return d.refuse(r)
	case "html":
		return d.html(r)
	case "header":
		name, value, _ := strings.Cut(d.arg, " ")
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(name, strings.TrimSpace(value))
	case "id":
		r.ID = d.arg
	case "callid":
		return d.callID(r)
	case "habit":
		return d.habits(r)
	case "empty":
	default:
		return fmt.Errorf("unknown verb %q", d.verb)
	}
	return err
}

// maxWords bounds [[slow N]], which may come from a stranger's message.
const maxWords = 100_000

func (d directive) slow(r *Reply) error {
	count, pace, _ := strings.Cut(d.arg, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxWords {
		return fmt.Errorf("want a number of words from 1 to %d", maxWords)
	}
	between, err := time.ParseDuration(strings.TrimSpace(pace))
	if err != nil {
		return err
	}
	slow := Slow(n, between)
	r.Text += slow.Text
	r.Pace = slow.Pace
	return nil
}

func (d directive) usage(r *Reply) error {
	fields := strings.Fields(d.arg)
	var u Usage
	counts := []*int{&u.Prompt, &u.Completion, &u.Cached, &u.Reasoning}
	if len(fields) != 2 && len(fields) != len(counts) {
		return fmt.Errorf("want 2 or %d numbers", len(counts))
	}
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		*counts[i] = n
	}
	r.Usage = &u
	return nil
}

func (d directive) fail(r *Reply) error {
	if d.arg == "context" {
		r.Status, r.Body = ContextTooLong().Status, ContextTooLong().Body
		return nil
	}
	if strings.Contains(d.arg, "-") {
		if named, err := FailureNamed(d.arg); err == nil {
			r.Status, r.Body = named.Status, named.Body
			for name, values := range r.Header {
				named.Header[name] = values
			}
			r.Header = named.Header
			return nil
		}
	}
	status, message, err := d.status(http.StatusBadRequest)
	if err != nil {
		return err
	}
	fail := Fail(status, message)
	r.Status, r.Body = fail.Status, fail.Body
	return nil
}

// status splits "STATUS MESSAGE"; least is the lowest status.
func (d directive) status(least int) (status int, message string, err error) {
	code, message, _ := strings.Cut(d.arg, " ")
	status, err = strconv.Atoi(code)
	if err != nil || status < least || status > 599 {
		return 0, "", fmt.Errorf("want a status from %d to 599", least)
	}
	return status, message, nil
}

// refuse ends the reply with an error frame.
func (d directive) refuse(r *Reply) error {
	r.End = Refuse
	if strings.Contains(d.arg, "-") {
		if named, err := FailureNamed(d.arg); err == nil {
			r.Frame = named.Body
			return nil
		}
	}
	status, message, err := d.status(http.StatusBadRequest)
	if err != nil {
		return err
	}
	r.Frame = encode(map[string]any{"error": map[string]any{"code": status, "message": message}})
	return nil
}

// html makes the reply the page of a proxy, with status 200 unless another is given.
func (d directive) html(r *Reply) error {
	r.Status, r.Body = http.StatusOK, proxyPage
	if d.arg != "" {
		status, _, err := d.status(http.StatusOK)
		if err != nil {
			return err
		}
		r.Status = status
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "text/html; charset=utf-8")
	return nil
}

// callID sets the ids of the calls so far; the second and later ones get the
// place behind it.
func (d directive) callID(r *Reply) error {
	if d.arg == "" || len(r.Calls) == 0 {
		return errors.New("want an id, behind a tool call")
	}
	for i := range r.Calls {
		r.Calls[i].ID = d.arg
		if i > 0 {
			r.Calls[i].ID += ":" + strconv.Itoa(i+1)
		}
	}
	return nil
}

func (d directive) habits(r *Reply) error {
	for name := range strings.FieldsSeq(d.arg) {
		if !slices.Contains(Habits(), Habit(name)) {
			return fmt.Errorf("there is no habit %q", name)
		}
		r.Habits = append(r.Habits, Habit(name))
	}
	return nil
}

package migrate

import (
	"encoding/json"
	"errors"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
)

// Report is what Run plans, or what it has done. It has no keys in it.
type Report struct {
	Applied bool    `json:"applied"`          // false for a plan
	Models  string  `json:"models"`           // where the list of models is from
	Backup  string  `json:"backup,omitempty"` // directory; "" when no file was changed
	Items   []Item  `json:"items"`
	Summary Summary `json:"summary"`
}

// Summary counts items.
type Summary struct {
	Migrate   int `json:"migrate"` // to be changed, or changed
	Unchanged int `json:"unchanged"`
	Report    int `json:"report"` // left to a person
	Error     int `json:"error"`  // not loaded by OpenHands, or not changed because something failed
}

// Item is one LLM entry, or one file that has none.
type Item struct {
	Path    string `json:"path"`
	Profile string `json:"profile,omitempty"`
	Entry   string `json:"entry"` // "$", "$.agent_settings.llm" …
	Active  bool   `json:"active,omitempty"`

	Action  canon.Action `json:"action"`
	Reason  string       `json:"reason,omitempty"`
	OptIn   bool         `json:"opt_in,omitempty"` // a person decided
	Applied bool         `json:"applied"`
	Before  Fields       `json:"before"`
	After   Fields       `json:"after"`

	Warnings []canon.Warning `json:"warnings,omitempty"`
	Hints    []string        `json:"hints,omitempty"`   // facts that help to decide
	Repairs  []string        `json:"repairs,omitempty"` // commands

	Error string `json:"error,omitempty"` // why it was not changed
	Err   error  `json:"-"`
}

// Fields are the two members that can change, as they are in the file. The URL
// is masked.
type Fields struct {
	Model   Optional `json:"model,omitzero"`
	BaseURL Optional `json:"base_url,omitzero"`
}

// Optional is a text, null, or nothing at all, which are three things in these
// files. Any other value is shown as null.
type Optional struct {
	state canon.URLState
	text  string
}

func text(s string) Optional { return Optional{canon.URLText, s} }

// IsZero reports whether the member is not there.
func (o Optional) IsZero() bool { return o.state == canon.URLAbsent }

// Text is the text, or "".
func (o Optional) Text() string { return o.text }

// String is the text, or what there is instead of it, for people.
func (o Optional) String() string {
	switch {
	case o.state == canon.URLAbsent:
		return "(absent)"
	case o.state != canon.URLText:
		return "null"
	case o.text == "":
		return "(empty)"
	}
	return o.text
}

// MarshalJSON returns the text or null.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o.state != canon.URLText {
		return []byte("null"), nil
	}
	return json.Marshal(o.text)
}

// fieldsOf are the two members of an entry.
func fieldsOf(e document.Entry) Fields {
	var f Fields
	if model := canon.URLOf(e.Value.Get("model")); model.State != canon.URLAbsent {
		f.Model = Optional{model.State, model.Text}
	}
	url := canon.URLOf(e.Value.Get("base_url"))
	f.BaseURL = Optional{url.State, canon.MaskURL(url.Text)}
	return f
}

// refused is the item with the reason why its file is not looked into or not
// written.
func (i Item) refused(g *document.GateError) Item {
	i.Action, i.Reason = g.Action, g.Error()
	return i
}

func (i *Item) fail(err error) {
	i.Err, i.Error = err, err.Error()
	i.After = i.Before
}

// isError reports whether the entry is not loaded or was not changed.
func (i *Item) isError() bool { return i.Err != nil || i.Action.IsError() }

func (r *runner) finish() {
	s := &r.report.Summary
	for i := range r.report.Items {
		switch item := &r.report.Items[i]; {
		case item.isError():
			s.Error++
		case item.Action == canon.Migrate:
			s.Migrate++
		case item.Action == canon.Unchanged:
			s.Unchanged++
		default:
			s.Report++
		}
	}
}

// Pending reports whether something is left to do: an entry to migrate, or one
// without a URL. With strict it is anything that a person should look at.
func (r *Report) Pending(strict bool) bool {
	for i := range r.Items {
		switch item := &r.Items[i]; {
		case item.Applied:
		case item.Action == canon.Migrate, item.Action == canon.ReportStranded, item.Action == canon.ReportAmbiguous:
			return true
		case strict && item.Action.IsReport():
			return true
		}
	}
	return false
}

// Code returns the exit code for the report: fault.Conflict if a lock was not
// available, fault.Failed if a repair by name was refused, fault.Partly if some
// file could not be dealt with, else 0.
func (r *Report) Code() fault.Code {
	return codeOf(r.Items, func(i *Item) (error, bool) { return i.Err, i.isError() })
}

// CheckCode is Code, and fault.Partly when something is Pending.
func (r *Report) CheckCode(strict bool) fault.Code {
	return checkCode(r.Code(), r.Pending(strict))
}

// codeOf chooses the exit code for items, of which failed says the error and whether
// it could not be dealt with.
func codeOf[T any](items []T, failed func(*T) (error, bool)) fault.Code {
	var code fault.Code
	for i := range items {
		err, bad := failed(&items[i])
		switch {
		case document.IsLockError(err):
			return fault.Conflict
		case errors.Is(err, canon.ErrRefused):
			code = fault.Failed
		case bad && code == 0:
			code = fault.Partly
		}
	}
	return code
}

// checkCode is the exit code of a run that only plans.
func checkCode(code fault.Code, pending bool) fault.Code {
	if code == 0 && pending {
		return fault.Partly
	}
	return code
}

package migrate

import (
	"slices"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/schema"
)

// ReleaseReport is what ToRelease plans, or what it has done. It has no values of the
// files in it.
type ReleaseReport struct {
	Applied bool           `json:"applied"` // false for a plan
	To      string         `json:"to"`
	Backup  string         `json:"backup,omitempty"` // directory; "" when no file was changed
	Items   []ReleaseItem  `json:"items"`
	Notes   []string       `json:"notes"` // what the release does not have
	Summary ReleaseSummary `json:"summary"`
}

// ReleaseSummary counts files, and the members that are lost.
type ReleaseSummary struct {
	Migrate   int `json:"migrate"` // to be changed, or changed
	Unchanged int `json:"unchanged"`
	Error     int `json:"error"` // not changed because something failed or is in the way
	Lost      int `json:"lost"`
}

// ReleaseItem is one file.
type ReleaseItem struct {
	Path     string           `json:"path"`
	Action   canon.Action     `json:"action"`
	Reason   string           `json:"reason,omitempty"`
	Applied  bool             `json:"applied"`
	Held     bool             `json:"held,omitempty"` // stays, because another file of the store is in the way
	Versions []schema.Version `json:"versions,omitempty"`
	Lost     []schema.Loss    `json:"lost,omitempty"`
	Error    string           `json:"error,omitempty"` // why it was not changed
	Err      error            `json:"-"`
}

func (i *ReleaseItem) refuse(g *document.GateError) {
	i.Action, i.Reason, i.Versions, i.Lost = g.Action, g.Error(), nil, nil
}

func (i *ReleaseItem) fail(err error) { i.Err, i.Error = err, err.Error() }

// isError reports whether the file is in the way or was not changed. What is left to a
// person elsewhere is in the way here.
func (i *ReleaseItem) isError() bool {
	return i.Err != nil || i.Action.IsError() || i.Action.IsReport()
}

func (r *ReleaseReport) count() {
	s := &r.Summary
	for i := range r.Items {
		item := &r.Items[i]
		s.Lost += len(item.Lost)
		switch {
		case item.isError():
			s.Error++
		case item.Action == canon.Migrate:
			s.Migrate++
		default:
			s.Unchanged++
		}
	}
}

// Newer is the file that a newer OpenHands wrote, if there is one.
func (r *ReleaseReport) Newer() (ReleaseItem, bool) {
	for _, item := range r.Items {
		if item.Action == canon.ErrorNewer {
			return item, true
		}
	}
	return ReleaseItem{}, false
}

// Code returns the exit code for the report: fault.Conflict if a lock was not
// available, fault.Partly if some file could not be dealt with, else 0.
func (r *ReleaseReport) Code() fault.Code {
	return codeOf(r.Items, func(i *ReleaseItem) (error, bool) { return i.Err, i.isError() })
}

// CheckCode is Code, and fault.Partly when something is left to do.
func (r *ReleaseReport) CheckCode() fault.Code {
	return checkCode(r.Code(), slices.ContainsFunc(r.Items, func(i ReleaseItem) bool { return i.Action == canon.Migrate && !i.Applied }))
}

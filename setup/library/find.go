package library

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
)

// Find returns the id that a person has typed: a whole one, or the beginning of one that
// no other conversation has.
func (l Library) Find(ctx context.Context, typed string) (string, error) {
	id, plain, err := ReadID(typed)
	if id != "" || err != nil {
		return id, err
	}
	found, err := l.Beginning(ctx, plain)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.New(fmt.Sprintf("no conversation has an id that begins with %q", typed), "ohgw conversations list shows the ids", nil)
	case len(found) > 1:
		return "", Ambiguous(typed, found)
	}
	return found[0].ID, nil
}

// ReadID reads an id that a person has typed: a whole one, or the plain beginning of one.
func ReadID(typed string) (id, beginning string, err error) {
	typed = strings.TrimPrefix(typed, "conv_")
	if id, err := uuid.Parse(typed); err == nil {
		return id, "", nil
	}
	if plain, ok := uuid.Beginning(typed); ok {
		return "", plain, nil
	}
	return "", "", fault.NewUsage("the id of a conversation is a UUID, or the beginning of one", "ohgw conversations list shows the ids")
}

// mostNamed is how many conversations an error names.
const mostNamed = 5

// Ambiguous returns an error that lists the conversations that the user may
// have meant.
func Ambiguous(typed string, found []control.Record) error {
	return fault.NewUsage(fmt.Sprintf("%d conversations are meant by %q: %s", len(found), typed, Named(found)), "type more of the id")
}

// Named are the conversations of an error: the first of them by id and title, and how many
// more there are.
func Named(found []control.Record) string {
	var named []string
	for _, r := range found[:min(len(found), mostNamed)] {
		named = append(named, fmt.Sprintf("%s (%s)", r.ID, setup.Clean(cmp.Or(r.Title, "without a title"))))
	}
	if more := len(found) - mostNamed; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

// Beginning finds the conversations whose ids begin so, also those that cannot be read.
func (l Library) Beginning(ctx context.Context, plain string) (found []control.Record, err error) {
	q := control.ListQuery{Limit: 100, Order: control.ByUpdatedDesc}
	seen := map[string]bool{} // a list that changes meanwhile can begin again
	add := func(r control.Record) {
		if !seen[r.ID] && uuid.Begins(r.ID, plain) {
			found = append(found, r)
		}
		seen[r.ID] = true
	}
	for {
		page, err := l.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			add(r)
		}
		for _, left := range page.LeftOut {
			add(control.Record{ID: left.ID, Title: "damaged"})
		}
		if page.Next == "" || seen[page.Next] {
			return found, nil
		}
		q.From = page.Next
	}
}

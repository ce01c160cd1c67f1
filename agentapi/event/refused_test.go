package event_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
)

func TestRefusalsAreReadAsTheyWereNoted(t *testing.T) {
	t.Parallel()
	all := []event.Block{
		{Access: "net", Target: "api.example.com:443", Why: "not on the allow list"},
		{Access: "write", Target: "/etc/hosts", Why: "read-only"},
		{Access: "read", Target: "/home/a (copy); b/é", Why: "not in the sandbox"},
		{Access: "socket", Target: "/run/docker.sock", Why: "a socket of the system"},
		{Access: "socket", Target: "@abstract", Why: "a socket of the system"},
	}
	for n := range len(all) + 1 {
		if n == 0 {
			continue
		}
		note := event.RefusedNote(all[:n])
		if strings.Contains(note, "\n") {
			t.Errorf("%q has more than one line", note)
		}
		if diff := cmp.Diff(all[:n], event.Refused(note)); diff != "" {
			t.Errorf("%d (-noted +read):\n%s", n, diff)
		}
	}
	many := slices.Repeat(all, 3)
	if got := event.Refused(event.RefusedNote(many)); !slices.Equal(got, many[:10]) {
		t.Errorf("of %d: %v", len(many), got)
	}
}

func TestOtherLinesTellOfNoRefusal(t *testing.T) {
	t.Parallel()
	note := event.RefusedNote([]event.Block{{Access: "write", Target: "/x", Why: "no"}})
	for _, line := range []string{
		"", " " + note, note + " ", "x" + note, strings.TrimSuffix(note, "."), strings.TrimPrefix(note, "["),
		strings.Replace(note, "write /x (no)", "", 1), strings.Replace(note, "write /x (no)", "and 3 more", 1),
		strings.Replace(note, "write", "eat", 1),
	} {
		if got := event.Refused(line); got != nil {
			t.Errorf("%q: Refused = %v", line, got)
		}
	}
}

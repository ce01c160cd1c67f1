package apitest

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// These check one thing each, and say which one it was.

// Equal compares a value with the one that is wanted.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %#v, want %#v", what, got, want)
	}
}

// Contains looks for a part of a text.
func Contains(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s has no %q: %q", what, want, got)
	}
}

// Lacks looks for what a text must not have.
func Lacks(t testing.TB, what, got, unwanted string) {
	t.Helper()
	if strings.Contains(got, unwanted) {
		t.Errorf("%s has %q: %q", what, unwanted, got)
	}
}

// Begins looks for the beginning of a text.
func Begins(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s does not begin with %q: %q", what, want, got)
	}
}

// Ends looks for the end of a text.
func Ends(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s does not end with %q: %q", what, want, got)
	}
}

// Size ends the test where a list has another length: what follows looks into
// the list.
func Size[T any](t testing.TB, what string, list []T, want int) {
	t.Helper()
	if len(list) != want {
		t.Fatalf("%s has %d elements, want %d: %+v", what, len(list), want, list)
	}
}

// UUIDForm matches UUIDs in their usual form.
var UUIDForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Eventually waits until ok says so.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, waittest.Patience, what, func() (any, bool) {
		yes := ok()
		return yes, yes
	})
}

// Refused expects the answer about a conversation that is not open to its client.
func Refused(t *testing.T, res Response) {
	t.Helper()
	Envelope(t, res, http.StatusNotFound, "conversation_not_found", HeaderID)
}

// WantDisk expects the failure of a disk, with the next step and without the
// name of a directory.
func WantDisk(t *testing.T, res Response, status int, code, dir string) {
	t.Helper()
	message, _ := Envelope(t, res, status, code, "")["message"].(string)
	Lacks(t, "the message", message, dir)
	Contains(t, "the message", message, "ohgw doctor")
}

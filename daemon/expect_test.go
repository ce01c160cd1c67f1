package daemon_test

import (
	"strings"
	"testing"
)

// These check one thing each, and say which one it was.

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %#v, want %#v", what, got, want)
	}
}

func contains(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s has no %q: %q", what, want, got)
	}
}

func lacks(t testing.TB, what, got, unwanted string) {
	t.Helper()
	if strings.Contains(got, unwanted) {
		t.Errorf("%s has %q: %q", what, unwanted, got)
	}
}

func begins(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s does not begin with %q: %q", what, want, got)
	}
}

func ends(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s does not end with %q: %q", what, want, got)
	}
}

// size ends the test where a list has another length: what follows looks into
// the list.
func size[T any](t testing.TB, what string, list []T, want int) {
	t.Helper()
	if len(list) != want {
		t.Fatalf("%s has %d elements, want %d: %+v", what, len(list), want, list)
	}
}

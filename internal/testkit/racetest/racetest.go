// Package racetest is for tests that the race detector only slows down: they compute or move
// much in one goroutine, or measure memory. Where they run with it they are skipped, and the
// checks run what was skipped once without it.
package racetest

import "testing"

// Skip skips the test if the race detector is on.
func Skip(t testing.TB) {
	t.Helper()
	if enabled {
		t.Skip("it looks for no race, and the race detector makes it slow: it runs without")
	}
}

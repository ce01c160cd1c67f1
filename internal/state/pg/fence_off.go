//go:build nofence

package pg

// fences is off for a test of the tests. No program that is released has this tag.
const fences = false

//go:build race

package inside

// Environ is the whole environment of a helper. At each exit the race detector waits a
// second for goroutines that still run, and the helper of level reduced exits.
func Environ() []string { return []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"} }

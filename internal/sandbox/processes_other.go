//go:build !linux

package sandbox

// ourselves would be this process as a maker. These systems do not show the
// environment of a process, so that no mark would be found.
func ourselves() (maker, bool) { return maker{}, false }

func endMarked(string) {}

// EndTagged ends the programs whose environment has one of some variables. On systems
// without /proc it does nothing.
func EndTagged(...string) {}

// EndLeftovers ends the programs of a state whose maker was killed, and gives
// their number. On systems without /proc it does nothing.
func EndLeftovers(string) int { return 0 }

// Adopt makes this process the parent of what the agents' programs leave behind,
// and gives what ends that. On systems other than Linux it does nothing.
func Adopt(string, bool) (leave func() error) { return func() error { return nil } }

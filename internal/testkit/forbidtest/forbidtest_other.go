//go:build !linux

package forbidtest

// Main does nothing on this system.
func Main([]string) int { return 1 }

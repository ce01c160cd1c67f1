//go:build !linux && !windows

package systemd_test

// abstract tells whether sockets can have names that are no files.
func abstract() bool { return false }

//go:build !linux && !windows

package systemd_test

// abstract reports whether sockets can have names that are not files.
func abstract() bool { return false }

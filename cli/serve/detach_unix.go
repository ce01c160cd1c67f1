//go:build unix

package serve

import "syscall"

// ownSession lets a process go on when the terminal is closed.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

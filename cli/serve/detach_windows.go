package serve

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession lets a process go on when the console is closed.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

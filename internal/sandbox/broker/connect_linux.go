//go:build amd64 || arm64

package broker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawBind binds to an address that is given as the kernel reads it.
func rawBind(fd int, address []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if errno != 0 {
		return errno
	}
	return nil
}

// rawConnect connects to an address that is given as the kernel reads it.
func rawConnect(fd int, address []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if errno != 0 {
		return errno
	}
	return nil
}

package storage

import "syscall"

// fullErrors are ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and
// ERROR_DISK_QUOTA_EXCEEDED.
func fullErrors() []error {
	return []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}
}

// readOnlyErrors is ERROR_WRITE_PROTECT.
func readOnlyErrors() []error { return []error{syscall.Errno(19)} }

//go:build !windows

package storage

import "syscall"

func fullErrors() []error     { return []error{syscall.ENOSPC, syscall.EDQUOT} }
func readOnlyErrors() []error { return []error{syscall.EROFS} }

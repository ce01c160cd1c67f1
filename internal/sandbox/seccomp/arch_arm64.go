//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_AARCH64
	// foreignBit is for a second set of numbers, which arm64 does not have.
	foreignBit = 0
)

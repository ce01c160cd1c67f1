//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_X86_64
	// foreignBit marks the calls of the x32 ABI, which have numbers of their own.
	foreignBit = 0x40000000
)

// Package hardening keeps what this process has from the programs that it starts
// and from other programs of the same user, as far as the system can do that.
//
// It is not a sandbox: a program that runs as the same user reads the same files,
// and root reads everything.
package hardening

// Process lets no program that this process starts inherit a descriptor above
// 2 that it was itself started with, and keeps other processes from reading
// its environment, its memory and its descriptors. It is for the beginning of
// main. What the system cannot do is left out.
func Process() {
	Descriptors()
	hideProcess()
}

// Descriptors does the part of [Process] that is about descriptors. It can be
// repeated: what this process opens itself is not inherited either way.
func Descriptors() { keepDescriptors() }

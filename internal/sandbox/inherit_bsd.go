//go:build unix && !linux

package sandbox

// KeepDescriptors keeps the descriptors that this process got from whoever started it
// from the programs that it starts itself. Go marks what it opens so, and nothing
// else. This process goes on using them; descriptors 0 to 2 stay as they are.
func KeepDescriptors() { inheritEach("/dev/fd") }

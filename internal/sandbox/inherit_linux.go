package sandbox

import (
	"math"

	"golang.org/x/sys/unix"
)

// KeepDescriptors keeps the descriptors that this process got from whoever started it
// from the programs that it starts itself. Go marks what it opens so, and nothing
// else. This process goes on using them; descriptors 0 to 2 stay as they are.
func KeepDescriptors() {
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		inheritEach("/proc/self/fd") // before Linux 5.11
	}
}

package inside

import (
	"os"
	"os/signal"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastSignal is the highest number of a signal.
const lastSignal = 64

// refuseSignals makes this process, the first one of a PID namespace, take no notice
// of signals. The kernel gives it only those that it handles, and Go handles nearly
// all. They are not ignored, because a program would inherit that. To have Go pass
// them on, as discard does, takes 2 ms for all of them.
func refuseSignals() error {
	handled := []os.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE} // Go makes words of a mistake.
	discard(handled...)
	var byDefault [4]uint64                               // struct sigaction of the kernel, with SIG_DFL
	handled = append(handled, unix.SIGCHLD, unix.SIGURG)  // Go wants them; others may send them.
	handled = append(handled, unix.SIGKILL, unix.SIGSTOP) // They have no handler.
	for number := unix.Signal(1); number <= lastSignal; number++ {
		if slices.Contains(handled, os.Signal(number)) {
			continue
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
		if errno != 0 {
			return errno
		}
	}
	return nil
}

// discard takes signals, all if none is named, and does nothing about them.
func discard(signals ...os.Signal) {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, signals...)
	go func() {
		for range taken {
		}
	}()
}

//go:build linux

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scheduleOperations change when and where another process runs, and what it may use.
var scheduleOperations = map[string]operation{
	"renice":   {1, func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 19) }},
	"affinity": {1, func(a []string) error { return affinity(number(a[0])) }},
	"schedule": {1, func(a []string) error { return schedule(number(a[0])) }},
	"ioprio": {1, func(a []string) error {
		const process, idle = 1, 3 << 13
		return call(unix.SYS_IOPRIO_SET, process, uintptr(number(a[0])), idle)
	}},
	"limit": {1, func(a []string) error {
		return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}, nil)
	}},
}

// affinity keeps a process to one of its processors.
func affinity(pid int) error {
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &may); err != nil {
		return err
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if may.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	return unix.SchedSetaffinity(pid, &one)
}

// schedule lets a process run only when nothing else wants to.
func schedule(pid int) error {
	priority := int32(0)
	return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&priority)))
}

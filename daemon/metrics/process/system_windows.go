package process

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// vmCounters is VM_COUNTERS of the Windows kernel. Sizes are in bytes.
type vmCounters struct {
	peakVirtualSize, virtualSize                  uintptr
	pageFaults                                    uint32
	peakWorkingSetSize, workingSetSize            uintptr
	quotaPeakPagedPoolUsage, quotaPagedPoolUsage  uintptr
	quotaPeakNonPagedPool, quotaNonPagedPoolUsage uintptr
	pagefileUsage, peakPagefileUsage              uintptr
}

// read asks the kernel.
func (s *system) read() {
	self := windows.CurrentProcess()
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(self, &created, &exited, &kernel, &user); err == nil {
		s.cpu(float64(units(kernel)+units(user)) / 1e7)
		s.start(float64(created.Nanoseconds()) / 1e9)
	}
	var vm vmCounters
	size := uint32(unsafe.Sizeof(vm))
	if err := windows.NtQueryInformationProcess(self, windows.ProcessVmCounters, unsafe.Pointer(&vm), size, nil); err == nil {
		s.memory(uint64(vm.workingSetSize), uint64(vm.virtualSize))
	}
}

// units are the 100 ns units of a duration that is written as a time.
func units(t windows.Filetime) uint64 {
	return uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime)
}

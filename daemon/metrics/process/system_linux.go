package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ticks is how many a second the times in /proc have: USER_HZ, which is 100 on
// every platform that Go knows.
const ticks = 100

// read asks /proc. What is not mounted there is not known.
func (s *system) read() {
	s.readStat()
	if names, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.openFiles(len(names) - 1) // without the directory that is being read
	}
	s.readRlimits()
}

// readStat reads /proc/self/stat: after the name of the command in parentheses
// are the state (field 3), the CPU times in ticks (14, 15), the start in ticks
// since the boot (22), the virtual size in bytes (23) and the resident pages (24).
func (s *system) readStat() {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return
	}
	field := func(n int) uint64 {
		value, _ := strconv.ParseUint(fields[n-3], 10, 64) // The kernel writes numbers.
		return value
	}
	s.cpu(float64(field(14)+field(15)) / ticks)
	s.memory(field(24)*uint64(os.Getpagesize()), field(23))
	if boot, ok := bootTime(); ok {
		s.start(float64(boot) + float64(field(22))/ticks)
	}
}

// bootTime is when the machine was started, in seconds since the Unix epoch.
func bootTime() (uint64, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "\nbtime ")
	number, _, _ := strings.Cut(rest, "\n")
	seconds, err := strconv.ParseUint(number, 10, 64)
	return seconds, err == nil
}

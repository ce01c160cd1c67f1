package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is what the system tells of a process.
type process struct {
	pid, parent, group int
	state              byte // 'Z': it has ended, and its parent has not waited for it
	start              uint64
	used               time.Duration // of the processor, with that of children that have ended
}

// readProcess reads /proc/PID/stat.
func readProcess(pid int) (process, bool) {
	p, ok := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	p.pid = pid
	return p, ok
}

// readStat reads the file of a process or of a thread (proc_pid_stat(5)).
func readStat(at string) (process, bool) {
	stat, err := os.ReadFile(at)
	if err != nil {
		return process{}, false
	}
	// pid (name) state parent ...; the name can hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, errParent := strconv.Atoi(fields[1])
	group, errGroup := strconv.Atoi(fields[2])
	start, errStart := strconv.ParseUint(fields[19], 10, 64)
	p := process{parent: parent, group: group, state: fields[0][0], start: start}
	for _, text := range fields[11:15] { // utime, stime, cutime, cstime
		if ticks, err := strconv.ParseInt(text, 10, 64); err == nil {
			p.used += time.Duration(ticks) * tick
		}
	}
	return p, errParent == nil && errGroup == nil && errStart == nil
}

// numbers lists the numbers of all processes.
func numbers() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// ourselves is this process as a maker.
func ourselves() (maker, bool) {
	self, ok := readProcess(os.Getpid())
	return maker{namespaceOf("self"), self.pid, self.start}, ok
}

// namespaceOf is the PID namespace of a process; "" if that cannot be told.
func namespaceOf(pid string) string {
	name, err := os.Readlink(filepath.Join("/proc", pid, "ns", "pid")) // pid:[4026531836]
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]")
}

// markOf reads the variable with which one of the user's programs was started, if it
// begins with a prefix; "" if not.
func markOf(pid int, prefix string) string {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	info, err := os.Stat(dir)
	if err != nil || !ours(info) {
		return ""
	}
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || !bytes.Contains(environ, []byte(prefix)) {
		return ""
	}
	for _, entry := range strings.Split(string(environ), "\x00") {
		if strings.HasPrefix(entry, prefix) {
			return entry
		}
	}
	return ""
}

// ours reports whether a file, such as that of a process, is the user's.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// killTime bounds how long ohgw waits for killed processes to end: one in the
// middle of a disk access ends only after it.
const killTime = 2 * time.Second

// kill ends a process if it is still the one that is meant, and waits for its end.
// The number cannot become another process's meanwhile.
func kill(pid int, meant func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == unix.ENOSYS:
		return meant() && syscall.Kill(pid, syscall.SIGKILL) == nil // before Linux 5.3
	case err != nil:
		return false
	}
	defer unix.Close(fd)
	if !meant() || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return false
	}
	for late := time.Now().Add(killTime); time.Now().Before(late); { //nolint:forbidigo // real time: waits for another process
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(killTime/time.Millisecond))
		if err != unix.EINTR {
			break
		}
	}
	return true
}

// killRounds bounds how often processes are looked for: each round can find what
// those of the last one started before they died.
const killRounds = 20

// killAll ends all processes that are found, until there are none.
func killAll(find func() []target) (ended int) {
	for range killRounds {
		killed := 0
		for _, t := range find() {
			if kill(t.pid, t.meant) {
				killed++
			}
		}
		if killed == 0 {
			break
		}
		ended += killed
	}
	return ended
}

// target is a process to end, and how to know it again.
type target struct {
	pid   int
	meant func() bool
}

// marked finds the user's processes whose variable begins with a prefix and whose
// maker is as it should be.
func marked(prefix string, fits func(entry string, p process) bool) (found []target) {
	for _, pid := range numbers() {
		meant := func() bool {
			entry := markOf(pid, prefix)
			if entry == "" {
				return false
			}
			p, ok := readProcess(pid)
			return ok && p.state != 'Z' && fits(entry, p)
		}
		if pid != os.Getpid() && meant() {
			found = append(found, target{pid, meant})
		}
	}
	return found
}

// endMarked ends the programs with exactly that variable.
func endMarked(entry string) {
	if entry == "" {
		return
	}
	killAll(func() []target {
		return marked(entry, func(found string, _ process) bool { return found == entry })
	})
}

// EndTagged ends the programs whose environment has one of some variables, each NAME=value
// and all of the same name, wherever they are. On systems without /proc it does nothing.
func EndTagged(entries ...string) {
	if len(entries) == 0 {
		return
	}
	name, _, _ := strings.Cut(entries[0], "=")
	killAll(func() []target {
		return marked(name+"=", func(found string, _ process) bool { return slices.Contains(entries, found) })
	})
}

// EndLeftovers ends the programs of a state whose maker was killed, and gives
// their number. The programs of another ohgw that runs stay, and so do this
// process and those above it. On systems without /proc it does nothing.
func EndLeftovers(state string) int {
	namespace := namespaceOf("self")
	above := ancestors()
	return killAll(func() []target {
		return marked(prefix(state), func(entry string, p process) bool {
			by, ok := makerOf(entry, state)
			if !ok || by.namespace != namespace || p.start < by.start || slices.Contains(above, p.pid) {
				return false
			}
			now, lives := readProcess(by.pid)
			return !lives || now.start != by.start || now.state == 'Z'
		})
	})
}

// ancestors are the processes above this one.
func ancestors() (above []int) {
	for pid := os.Getpid(); pid > 1; {
		p, ok := readProcess(pid)
		if !ok || slices.Contains(above, p.parent) {
			break
		}
		above = append(above, p.parent)
		pid = p.parent
	}
	return above
}

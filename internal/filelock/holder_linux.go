package filelock

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// holderOf looks the lock up in /proc/locks, where a line is
//
//	1: FLOCK  ADVISORY  WRITE 4711 fd:01:1234567 0 EOF
//
// with the device as major and minor number in hexadecimal and the inode in
// decimal.
func holderOf(path string) Holder {
	h := Holder{Path: path}
	info, err := os.Lstat(path)
	if err != nil {
		return h
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return h
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return h
	}
	h.PID = flockHolder(table, st.Dev, st.Ino)
	if h.PID != 0 {
		h.Command = commandOf(h.PID)
	}
	return h
}

// flockHolder finds the process in the text of /proc/locks. On some file
// systems (btrfs, overlay) the device there is not the one that stat gives;
// then the inode alone decides, if only one process fits.
func flockHolder(table []byte, dev, ino uint64) int {
	byInode := map[int]bool{}
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		// A waiter is written as "1: -> FLOCK …".
		if len(fields) != 8 || fields[1] != "FLOCK" {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil || pid <= 0 {
			continue
		}
		device, inode, ok := cutLast(fields[5], ":")
		if !ok || inode != strconv.FormatUint(ino, 10) {
			continue
		}
		if device == fmt.Sprintf("%02x:%02x", unix.Major(dev), unix.Minor(dev)) {
			return pid
		}
		byInode[pid] = true
	}
	if len(byInode) != 1 {
		return 0
	}
	for pid := range byInode {
		return pid
	}
	return 0
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func commandOf(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(comm))
}

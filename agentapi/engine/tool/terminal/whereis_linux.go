package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// promptRead is how much bash asks for when it reads its next line: the size
// of a stdio buffer for a terminal. Its builtin read asks for one byte, or for
// other sizes.
const promptRead = 1024

// whereIs reports where a shell is and what it does.
func whereIs(pid int) whereabouts {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err == nil {
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 0 && string(fields[0]) == "T" {
			return stopped
		}
	}
	// number, then six arguments in hexadecimal: read(0, buffer, size)
	call, err := os.ReadFile(filepath.Join(dir, "syscall"))
	if err != nil {
		return unknown
	}
	fields := strings.Fields(string(call))
	if len(fields) < 4 || fields[0] != strconv.Itoa(unix.SYS_READ) || fields[1] != "0x0" || fields[3] != "0x"+strconv.FormatInt(promptRead, 16) {
		return unknown
	}
	return atPrompt
}

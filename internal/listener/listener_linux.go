package listener

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// On finds the process that listens on a port. It is not known if nothing listens, or if
// several users do: which of them gets a connection cannot be seen here. Of several
// processes with one socket it is the oldest, which has opened it.
func On(port uint16) (p Process, known bool) {
	sockets := map[string]bool{}
	users := map[int]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for inode, uid := range listeners(string(text), port) {
			sockets["socket:["+inode+"]"], users[uid] = true, true
			p.UID = uid
		}
	}
	if port == 0 || len(users) != 1 {
		return Process{}, false
	}
	descriptors, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return p, true
	}
	holders := map[string]int{} // of each socket, the oldest
	for _, fd := range descriptors {
		target, err := os.Readlink(fd)
		if err != nil || !sockets[target] {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if old, there := holders[target]; err == nil && (!there || pid < old) {
			holders[target] = pid
		}
	}
	if len(holders) != len(sockets) {
		return p, true // one of them is hidden, and a connection may be its
	}
	return p.look(holders), true
}

// look reads what there is to know about the process that holds all sockets. If there
// are several, it is not known which one gets a connection.
func (p Process) look(holders map[string]int) Process {
	for _, pid := range holders {
		if p.PID != 0 && p.PID != pid {
			return Process{UID: p.UID}
		}
		p.PID = pid
	}
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	name, _ := os.ReadFile(filepath.Join(dir, "comm"))
	command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	p.Executable, _ = os.Readlink(filepath.Join(dir, "exe"))
	p.Name, p.Command = strings.TrimSpace(string(name)), string(command)
	return p
}

// listeners are the inodes of the sockets that listen on a port, and their users, from
// the text of /proc/net/tcp. A line is
//
//	0: 0100007F:1931 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 …
//
// with the port and the state (0A is listen) in hexadecimal, the user in the eighth
// field and the inode in the tenth.
func listeners(table string, port uint16) map[string]int {
	inodes := map[string]int{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= 9 || fields[3] != "0A" || !strings.HasSuffix(fields[1], ":"+hexPort(port)) {
			continue
		}
		if uid, err := strconv.Atoi(fields[7]); err == nil {
			inodes[fields[9]] = uid
		}
	}
	return inodes
}

func hexPort(port uint16) string {
	text := strings.ToUpper(strconv.FormatUint(uint64(port), 16))
	return strings.Repeat("0", 4-len(text)) + text
}

package serving

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listeningProcess names the process that listens on a port: "nginx (process 4711)".
// It is "" when that cannot be told, as for processes of other users, and to
// anybody but root for an ohgw, which hides its descriptors.
func listeningProcess(port string) string {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for inode := range listeners(string(text), uint16(n)) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	descriptors, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil || len(sockets) == 0 {
		return ""
	}
	for _, fd := range descriptors {
		if target, err := os.Readlink(fd); err == nil && sockets[target] {
			process := filepath.Dir(filepath.Dir(fd))
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return strings.TrimSpace(fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(process)))
		}
	}
	return ""
}

// listeners are the inodes of the sockets that listen on a port, from the text
// of /proc/net/tcp. A line is
//
//	0: 0100007F:1931 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 …
//
// with the port and the state (0A is listen) in hexadecimal, and the inode in
// the tenth field.
func listeners(table string, port uint16) map[string]bool {
	inodes := map[string]bool{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[3] == "0A" && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
			inodes[fields[9]] = true
		}
	}
	return inodes
}

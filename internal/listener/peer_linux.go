package listener

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Peer finds the user whose process is at the other end of a connection over the loopback
// of IPv4. It is not known of other connections, and of one whose other end is closed.
func Peer(conn net.Conn) (uid int, known bool) {
	here, ok := conn.LocalAddr().(*net.TCPAddr)
	there, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !isTCP {
		return 0, false
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, false
	}
	return owner(string(table), there.AddrPort(), here.AddrPort())
}

// owner finds the user of the socket with these two addresses in a table of the kernel.
func owner(table string, local, remote netip.AddrPort) (uid int, known bool) {
	from, to := hexAddress(local), hexAddress(remote)
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= 7 || fields[1] != from || fields[2] != to {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		return uid, err == nil
	}
	return 0, false
}

// hexAddress spells an address as the kernel's tables do: the number as it is in memory.
func hexAddress(at netip.AddrPort) string {
	ip := at.Addr().Unmap().As4()
	number := make([]byte, 4)
	binary.BigEndian.PutUint32(number, binary.NativeEndian.Uint32(ip[:]))
	return strings.ToUpper(hex.EncodeToString(number)) + ":" + hexPort(at.Port())
}

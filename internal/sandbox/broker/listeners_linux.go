//go:build amd64 || arm64

package broker

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// row is a socket that listens.
type row struct {
	at    netip.AddrPort
	inode uint64
}

// takes says that the socket may get connections to an address.
func (r *row) takes(to netip.AddrPort) bool {
	return r.at.Port() == to.Port() && (r.at.Addr().IsUnspecified() || r.at.Addr().Unmap() == to.Addr().Unmap())
}

// listeners are all sockets of this machine that listen for TCP.
func listeners() []row {
	rows, err := asked()
	if err != nil { // a kernel without these questions; the tables take milliseconds
		return append(table("/proc/net/tcp"), table("/proc/net/tcp6")...)
	}
	return rows
}

// The parts of sock_diag(7) that are needed, in bytes.
const (
	sizeRequest  = 56 // struct inet_diag_req_v2
	sizeAnswer   = 72 // struct inet_diag_msg
	listenState  = 10 // TCP_LISTEN
	offsetInode  = 68
	offsetPort   = 4
	offsetSource = 8
)

// asked asks the kernel by sock_diag(7).
func asked() (rows []row, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		request := make([]byte, unix.SizeofNlMsghdr+sizeRequest)
		binary.NativeEndian.PutUint32(request, uint32(len(request)))
		binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
		binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
		request[unix.SizeofNlMsghdr] = family
		request[unix.SizeofNlMsghdr+1] = unix.IPPROTO_TCP
		binary.NativeEndian.PutUint32(request[unix.SizeofNlMsghdr+4:], 1<<listenState)
		if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		more, err := answers(fd)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// answers reads the answers to one question.
func answers(fd int) (rows []row, err error) {
	err = eachAnswer(fd, sizeAnswer, func(data []byte) {
		raw := data[offsetSource : offsetSource+16]
		if data[0] == unix.AF_INET {
			raw = raw[:4]
		}
		addr, _ := netip.AddrFromSlice(raw)
		port := binary.BigEndian.Uint16(data[offsetPort:])
		rows = append(rows, row{netip.AddrPortFrom(addr, port), uint64(binary.NativeEndian.Uint32(data[offsetInode:]))})
	})
	return rows, err
}

// table reads a table of /proc/net: of each socket its addresses, its state and,
// in the tenth column, its inode.
func table(file string) (rows []row) {
	const listening = "0A"
	data, err := os.ReadFile(file)
	if err != nil {
		return nil // without IPv6
	}
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		at, ok := tableAddress(fields[1])
		inode, err := strconv.ParseUint(fields[9], 10, 64)
		if ok && err == nil {
			rows = append(rows, row{at, inode})
		}
	}
	return rows
}

// tableAddress reads ADDRESS:PORT in hexadecimal; an address is words of 32 bits, in
// the order of bytes of this machine.
func tableAddress(text string) (netip.AddrPort, bool) {
	hex, port, ok := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(hex)%8 != 0 {
		return netip.AddrPort{}, false
	}
	var raw []byte
	for at := 0; at < len(hex); at += 8 {
		word, err := strconv.ParseUint(hex[at:at+8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(word))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr, uint16(number)), ok
}

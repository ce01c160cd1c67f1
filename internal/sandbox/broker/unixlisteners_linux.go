package broker

import (
	"encoding/binary"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// unixRow is a Unix socket that listens.
type unixRow struct {
	inode uint64   // of the socket
	file  identity // that it is bound to
}

// The parts of sock_diag(7) for Unix sockets (linux/unix_diag.h), in bytes.
const (
	sizeUnixRequest  = 24 // struct unix_diag_req
	sizeUnixAnswer   = 16 // struct unix_diag_msg
	offsetUnixStates = 4
	offsetUnixShow   = 12
	offsetUnixInode  = 4
	showFile         = 2 // UDIAG_SHOW_VFS
	attributeFile    = 1 // UNIX_DIAG_VFS: inode and device
)

// unixListeners asks the kernel for all Unix sockets of this machine that listen at a
// path.
func unixListeners() ([]unixRow, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	request := make([]byte, unix.SizeofNlMsghdr+sizeUnixRequest)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := request[unix.SizeofNlMsghdr:]
	body[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(body[offsetUnixStates:], 1<<listenState)
	binary.NativeEndian.PutUint32(body[offsetUnixShow:], showFile)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var rows []unixRow
	err = eachAnswer(fd, sizeUnixAnswer, func(data []byte) {
		if row, ok := parseUnixRow(data); ok {
			rows = append(rows, row)
		}
	})
	return rows, err
}

// parseUnixRow reads struct unix_diag_msg with its attributes.
func parseUnixRow(data []byte) (row unixRow, ok bool) {
	row.inode = uint64(binary.NativeEndian.Uint32(data[offsetUnixInode:]))
	for rest := data[sizeUnixAnswer:]; len(rest) >= unix.SizeofNlAttr; {
		size := int(binary.NativeEndian.Uint16(rest))
		if size < unix.SizeofNlAttr || size > len(rest) {
			break
		}
		if binary.NativeEndian.Uint16(rest[2:]) == attributeFile && size >= unix.SizeofNlAttr+8 {
			row.file = identity{inode: binary.NativeEndian.Uint32(rest[4:]), device: binary.NativeEndian.Uint32(rest[8:])}
			ok = true
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return row, ok
}

// eachAnswer reads the answers to one question.
func eachAnswer(fd, atLeast int, f func(data []byte)) error {
	buf := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return nil
			case m.Header.Type == unix.NLMSG_ERROR || len(m.Data) < atLeast:
				return errors.New("the kernel refused the question")
			}
			f(m.Data)
		}
	}
}

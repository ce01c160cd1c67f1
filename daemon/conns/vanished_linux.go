package conns

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged lets a connection fail when the other side has not
// acknowledged what was sent for so long.
func limitUnacknowledged(c *net.TCPConn, limit time.Duration) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	// What cannot be set makes the loss known later.
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
}

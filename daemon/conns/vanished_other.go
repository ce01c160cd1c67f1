//go:build !linux

package conns

import (
	"net"
	"time"
)

// limitUnacknowledged does nothing here: the system has a limit of its own.
func limitUnacknowledged(*net.TCPConn, time.Duration) {}

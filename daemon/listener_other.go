//go:build !linux

package daemon

import (
	"net"
	"time"
)

// limitUnacknowledged does nothing here: the system has a limit of its own.
func limitUnacknowledged(*net.TCPConn, time.Duration) {}

package boxes

import (
	"errors"
	"net"
)

// Sockets are those that a box's programs reach; the daemon answers on them.
type Sockets struct {
	DNS     net.PacketConn // 127.0.0.1:53
	DNSTCP  net.Listener
	Capture []net.Listener // the ports 443, 80, 22 and Policy.Ports of every address
	Proxy   net.Listener   // 127.0.0.1:3128
	// Token is the password that the proxy wants of its clients, under the name
	// ProxyUser. It is empty if only the box can reach the proxy.
	Token string
}

// ProxyUser is the name that goes with a proxy's token.
const ProxyUser = "ohgw"

// Close closes all of them.
func (s Sockets) Close() error {
	var errs []error
	if s.DNS != nil {
		errs = append(errs, s.DNS.Close())
	}
	for _, ln := range append([]net.Listener{s.DNSTCP, s.Proxy}, s.Capture...) {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

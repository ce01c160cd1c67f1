// Package loopback decides which addresses only programs on this machine can reach.
//
// It resolves no name: the one name that it knows is localhost.
package loopback

import (
	"net"
	"strings"
)

// Host reports whether a host name or address is this machine only.
func Host(host string) bool {
	bare, _, _ := strings.Cut(host, "%") // without the zone of IPv6
	ip := net.ParseIP(bare)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Address is [Host] for a host with a port. An address without a host is every address
// of this machine.
func Address(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && Host(host)
}

// Listens reports whether a listener is reached from this machine only. One without TCP
// cannot be reached from the network.
func Listens(addr net.Addr) bool {
	_, tcp := addr.(*net.TCPAddr)
	return !tcp || Address(addr.String())
}

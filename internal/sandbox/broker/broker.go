// Package broker connects the programs of a box that has no network namespace.
//
// Such programs cannot connect, bind or listen themselves: the kernel tells the
// broker of each call, and the program waits. The broker takes a duplicate of the
// socket and a copy of the address, decides, and makes the call itself. What the
// program changes meanwhile has no effect. Invariants: a connection leads to the
// proxy of the box, to a listener of the box, or to a Unix socket that the user allows;
// a socket is bound on loopback, or to a file that the program may make; no call is
// ever handed back to the program to make.
package broker

import "net/netip"

// ProxyPort is the port at which programs find their proxy, on 127.0.0.1. Nothing
// listens there: the broker connects them to the proxy itself.
const ProxyPort = 3128

// Config is what a broker decides by.
type Config struct {
	// Proxy is where the proxy of the box listens; the zero value means that
	// there is no proxy.
	Proxy netip.AddrPort
	// Reserved are ports that no program of the box may take.
	Reserved []uint16
	// Trees are where programs may make Unix sockets, without symbolic links.
	Trees []string
	// Sockets are Unix sockets of others that programs may connect to.
	Sockets []string
	// Refused is called for each connection to another machine that was refused, from
	// many goroutines. It may be nil.
	Refused func(to netip.AddrPort)
}

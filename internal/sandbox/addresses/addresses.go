// Package addresses knows the addresses that the sandbox's network never dials:
// those of this machine, of private networks, of the clouds' metadata services,
// and those that hide an IPv4 address in an IPv6 one.
//
// It resolves and dials nothing.
package addresses

import (
	"fmt"
	"net"
	"net/netip"
)

// block is a range of addresses that are never dialled.
type block struct {
	prefix netip.Prefix
	why    string // completes "it is "
}

// Reasons that several blocks share.
const (
	metadata      = "a metadata service of a cloud"
	private       = "an address of a private network"
	documentation = "an address for documentation"
	benchmark     = "an address for benchmarks"
	hidden        = "an IPv6 address that contains an IPv4 address"
	special       = "an address for a special purpose"
	multicast     = "a multicast address"
	linkLocal     = "a link-local address"
	thisMachine   = "a loopback address of this machine"
	unallocated   = "an address that is not part of the public internet"
)

// table follows the two registries of special-purpose addresses of the IANA
// (RFC 6890 and its updates). The first block that contains an address gives the
// reason, so single addresses stand before their network.
var table = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), metadata},          // AWS, Azure, Google Cloud, OpenStack and others
	{netip.MustParsePrefix("169.254.170.2/32"), metadata},            // AWS, credentials of containers
	{netip.MustParsePrefix("169.254.170.23/32"), metadata},           // AWS, identities of pods
	{netip.MustParsePrefix("169.254.0.23/32"), metadata},             // Tencent Cloud
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},            // Azure, the host of a virtual machine; a public range
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},          // Alibaba Cloud
	{netip.MustParsePrefix("192.0.0.192/32"), metadata},              // Oracle Cloud
	{netip.MustParsePrefix("fd00:ec2::254/128"), metadata},           // AWS
	{netip.MustParsePrefix("fd00:ec2::23/128"), metadata},            // AWS, identities of pods
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},            // Google Cloud
	{netip.MustParsePrefix("fe80::a9fe:a9fe/128"), metadata},         // OpenStack
	{netip.MustParsePrefix("0.0.0.0/32"), "the unspecified address"}, // Linux connects to itself
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a carrier's shared network"},
	{netip.MustParsePrefix("127.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), special},
	{netip.MustParsePrefix("192.0.2.0/24"), documentation},
	{netip.MustParsePrefix("192.31.196.0/24"), special},
	{netip.MustParsePrefix("192.52.193.0/24"), special},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay of 6to4"},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("192.175.48.0/24"), special},
	{netip.MustParsePrefix("198.18.0.0/15"), benchmark},
	{netip.MustParsePrefix("198.51.100.0/24"), documentation},
	{netip.MustParsePrefix("203.0.113.0/24"), documentation},
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("::1/128"), thisMachine},
	{netip.MustParsePrefix("::/96"), hidden},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0/96"), hidden},   // IPv4-mapped
	{netip.MustParsePrefix("::ffff:0:0:0/96"), hidden}, // IPv4-translated, RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), hidden},    // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), hidden},  // NAT64 of the local network
	{netip.MustParsePrefix("2001::/32"), hidden},       // Teredo
	{netip.MustParsePrefix("2002::/16"), hidden},       // 6to4
	{netip.MustParsePrefix("2001:2::/48"), benchmark},
	{netip.MustParsePrefix("2001::/23"), special},
	{netip.MustParsePrefix("2001:db8::/32"), documentation},
	{netip.MustParsePrefix("2620:4f:8000::/48"), special},
	{netip.MustParsePrefix("3fff::/20"), documentation},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fec0::/10"), private}, // site-local, withdrawn but still routed
	{netip.MustParsePrefix("ff00::/8"), multicast},

	// Only 2000::/3 is allocated to hosts of the public internet (RFC 4291).
	{netip.MustParsePrefix("::/3"), unallocated},
	{netip.MustParsePrefix("4000::/2"), unallocated},
	{netip.MustParsePrefix("8000::/1"), unallocated},
}

// Metadata reports whether an address is a metadata service of a cloud, in any
// spelling that contains it. No exception is made for such an address.
func Metadata(addr netip.Addr) bool {
	for _, b := range table {
		if b.why == metadata && b.prefix.Contains(addr.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// Why says why an address is never dialled: the rest of a sentence that begins
// with "it is". It is empty if the address may be dialled. own are the addresses
// of this machine's interfaces.
func Why(addr netip.Addr, own []netip.Addr) string {
	switch {
	case !addr.IsValid():
		return "not an address"
	case addr.Zone() != "":
		return linkLocal
	}
	for _, b := range table {
		if b.prefix.Contains(addr) {
			return b.why
		}
	}
	if isatap(addr) {
		return hidden
	}
	for _, o := range own {
		if o.Unmap().WithZone("") == addr {
			return "an address of this machine"
		}
	}
	return ""
}

// isatap reports whether an address has an interface identifier that contains an
// IPv4 address (RFC 5214). Its first half may be of any network.
func isatap(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	return b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// Own lists the addresses of this machine's interfaces. They change while a
// program runs, so they are asked for again before each use.
func Own() ([]netip.Addr, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	var own []netip.Addr
	for _, a := range found {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own, nil
}

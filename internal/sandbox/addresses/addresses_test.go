package addresses_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/addresses"
)

// TestRangesAreRefusedUpToTheirBounds has each range with its first and last
// address, and the neighbours outside of it where these may be dialled.
func TestRangesAreRefusedUpToTheirBounds(t *testing.T) {
	t.Parallel()
	tests := []struct{ why, first, last, before, after string }{
		{"metadata", "169.254.169.254", "169.254.169.254", "", ""},
		{"metadata", "169.254.170.2", "169.254.170.2", "", ""},
		{"metadata", "169.254.170.23", "169.254.170.23", "", ""},
		{"metadata", "169.254.0.23", "169.254.0.23", "", ""},
		{"metadata", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"},
		{"metadata", "100.100.100.200", "100.100.100.200", "", ""},
		{"metadata", "192.0.0.192", "192.0.0.192", "", ""},
		{"metadata", "fd00:ec2::254", "fd00:ec2::254", "", ""},
		{"metadata", "fd00:ec2::23", "fd00:ec2::23", "", ""},
		{"metadata", "fd20:ce::254", "fd20:ce::254", "", ""},
		{"metadata", "fe80::a9fe:a9fe", "fe80::a9fe:a9fe", "", ""},
		{"unspecified", "0.0.0.0", "0.0.0.0", "", ""},
		{"this network", "0.0.0.1", "0.255.255.255", "", "1.0.0.0"},
		{"private", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
		{"carrier", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
		{"loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
		{"link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
		{"private", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
		{"special", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
		{"documentation", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
		{"special", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"},
		{"special", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"},
		{"6to4", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
		{"private", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
		{"special", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"},
		{"benchmarks", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
		{"documentation", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
		{"documentation", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
		{"multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", ""},
		{"reserved", "240.0.0.0", "255.255.255.254", "", ""},
		{"broadcast", "255.255.255.255", "255.255.255.255", "", ""},

		{"unspecified", "::", "::", "", ""},
		{"loopback", "::1", "::1", "", ""},
		{"contains an IPv4", "::2", "::ffff:ffff", "", ""},
		{"contains an IPv4", "::ffff:0.0.0.0", "::ffff:255.255.255.255", "", ""},
		{"contains an IPv4", "::ffff:0:0:0", "::ffff:0:ffff:ffff", "", ""},
		{"contains an IPv4", "64:ff9b::", "64:ff9b::ffff:ffff", "", ""},
		{"contains an IPv4", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"public internet", "100::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", "2000::"},
		{"contains an IPv4", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
		{"benchmarks", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"special", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "", "2001:200::"},
		{"documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
		{"contains an IPv4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
		{"special", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"},
		{"documentation", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
		{"public internet", "4000::", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"public internet", "8000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"private", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"private", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
	}
	for _, tt := range tests {
		for _, inside := range []string{tt.first, tt.last} {
			if why := addresses.Why(netip.MustParseAddr(inside), nil); !strings.Contains(why, tt.why) {
				t.Errorf("Why(%s) = %q, want a reason with %q", inside, why, tt.why)
			}
		}
		for _, outside := range []string{tt.before, tt.after} {
			if outside == "" {
				continue
			}
			if why := addresses.Why(netip.MustParseAddr(outside), nil); why != "" {
				t.Errorf("Why(%s) = %q, want an address that may be dialled", outside, why)
			}
		}
	}
}

func TestNoSpellingHidesAnAddress(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{
		"::ffff:8.8.8.8", "::ffff:808:808", "::8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8",
		"2002:0808:0808::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:7f00:1",
		"2606:4700::1%eth0", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
	} {
		if addresses.Why(netip.MustParseAddr(hidden), nil) == "" {
			t.Errorf("%s may be dialled", hidden)
		}
	}
	if addresses.Why(netip.Addr{}, nil) == "" {
		t.Error("no address may be dialled")
	}
}

func TestPublicAddressesAreDialled(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "140.82.121.3", "2606:4700::6810:1", "2a00:1450:4001:830::200e"} {
		if why := addresses.Why(netip.MustParseAddr(public), nil); why != "" {
			t.Errorf("Why(%s) = %q, want an address that may be dialled", public, why)
		}
	}
}

func TestAddressesOfThisMachineAreRefused(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("::ffff:8.8.4.5"), netip.MustParseAddr("2606:4700::7%eth0")}
	for _, text := range []string{"8.8.4.4", "8.8.4.5", "2606:4700::7"} {
		if why := addresses.Why(netip.MustParseAddr(text), own); why != "an address of this machine" {
			t.Errorf("Why(%s) = %q, want an address of this machine", text, why)
		}
	}
}

func TestOwnHasTheLoopbackAddress(t *testing.T) {
	t.Parallel()
	own, err := addresses.Own()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if a.IsLoopback() {
			return
		}
	}
	t.Errorf("Own() = %v, want a loopback address too", own)
}

func TestMetadataIsKnownInItsMappedForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"169.254.169.254": true, "::ffff:169.254.169.254": true, "fe80::a9fe:a9fe%eth0": true, "168.63.129.16": true,
		"169.254.169.253": false, "10.0.0.1": false, "127.0.0.1": false,
	} {
		if got := addresses.Metadata(netip.MustParseAddr(text)); got != want {
			t.Errorf("Metadata(%s) = %v, want %v", text, got, want)
		}
	}
}

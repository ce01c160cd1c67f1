package loopback_test

import (
	"net"
	"testing"

	"github.com/ohgw/ohgw/internal/loopback"
)

func TestOnlyLoopbackIsThisMachineOnly(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.1.2.3:80": true, "[::1]:0": true, "[::1%lo]:0": true, "localhost:80": true, "[::ffff:127.0.0.1]:1": true,
		":80": false, "0.0.0.0:1": false, "[::]:1": false, "192.168.1.5:1": false, "[fe80::1%eth0]:1": false, "example.org:80": false,
		"localhost.example.org:1": false, "127.0.0.1": false, "": false,
	} {
		if got := loopback.Address(addr); got != want {
			t.Errorf("Address(%q) = %t, want %t", addr, got, want)
		}
	}
}

func TestAListenerWithoutTCPIsThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.UnixAddr{Name: "/run/ohgw", Net: "unix"}, true},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 1}, true},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, false},
		{&net.TCPAddr{Port: 1}, false},
	} {
		if got := loopback.Listens(tt.addr); got != tt.want {
			t.Errorf("Listens(%s) = %t, want %t", tt.addr, got, tt.want)
		}
	}
}

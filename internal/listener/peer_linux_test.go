package listener

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestTheUserAtTheOtherEndIsKnown(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if uid, known := Peer(server); !known || uid != os.Getuid() {
		t.Errorf("user %d, known %v", uid, known)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, known := Peer(a); known {
		t.Error("the other end of a pipe has a user")
	}
}

func TestTheOwnerOfASocketIsThatOfBothItsAddresses(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     1        0 1
   1: 0100007F:C350 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     2        0 2
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     3        0 3
`
	local, remote := netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:8080")
	if uid, known := owner(table, local, remote); !known || uid != 3 {
		t.Errorf("user %d, known %v", uid, known)
	}
	if uid, known := owner(table, remote, local); known {
		t.Errorf("user %d of a socket that is not there", uid)
	}
}

//go:build amd64 || arm64

package broker

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

// Both ways to find listeners find the same.
func TestListeners(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // no IPv6
			continue
		}
		defer ln.Close()
		want := netip.MustParseAddrPort(ln.Addr().String())
		for way, rows := range map[string][]row{"asked": must(t), "read": append(table("/proc/net/tcp"), table("/proc/net/tcp6")...)} {
			i := slices.IndexFunc(rows, func(r row) bool { return r.at == want })
			if i < 0 || rows[i].inode == 0 {
				t.Errorf("%s: no %s in %v", way, want, rows)
			}
		}
	}
}

func must(t *testing.T) []row {
	t.Helper()
	rows, err := asked()
	if err != nil {
		t.Skip(err)
	}
	return rows
}

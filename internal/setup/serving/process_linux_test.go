package serving

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListeners(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1931 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1932 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1931 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 100 0 0 10 0
   3: 00000000000000000000000000000000:1931 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4714 1
   4: short
`
	want := map[string]bool{"4711": true, "4714": true}
	if diff := cmp.Diff(want, listeners(table, 0x1931)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPortOwnerFindsThisProcess(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listeningProcess(port), "(process "+strconv.Itoa(os.Getpid())+")"; !strings.HasSuffix(got, want) {
		t.Errorf("portOwner = %q, want …%q", got, want)
	}
	for _, bad := range []string{"", "0", "x", "65536"} {
		if got := listeningProcess(bad); got != "" {
			t.Errorf("portOwner(%q) = %q", bad, got)
		}
	}
}

package listener

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
   0: 0100007F:1931 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1932 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1931 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 100 0 0 10 0
   3: 00000000000000000000000000000000:1931 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4714 1
   4: short
`
	want := map[string]int{"4711": 1000, "4714": 0}
	if diff := cmp.Diff(want, listeners(table, 0x1931)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheProcessOfAPortIsThisOne(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p, known := On(uint16(ln.Addr().(*net.TCPAddr).Port))
		if !known || p.PID != os.Getpid() || p.UID != os.Getuid() || p.Executable != exe || !strings.HasSuffix(p.String(), "(process "+strconv.Itoa(os.Getpid())+")") {
			t.Errorf("%s: process = %+v, known %v", address, p, known)
		}
	}
	for _, none := range []uint16{0, 1} {
		if p, known := On(none); known {
			t.Errorf("port %d: %+v", none, p)
		}
	}
}

func TestAnIdentityIsOfOneProgramOfOneUser(t *testing.T) {
	t.Parallel()
	server := Process{UID: 1000, PID: 1, Executable: "/usr/bin/python3", Command: "python3\x00-m\x00agent_server\x00"}
	again := server
	again.PID = 2
	if server.Identity() == "" || server.Identity() != again.Identity() {
		t.Errorf("%q is %q after a restart", server.Identity(), again.Identity())
	}
	for name, other := range map[string]Process{
		"another user":                      {UID: 1001, Executable: server.Executable, Command: server.Command},
		"another program":                   {UID: 1000, Executable: "/tmp/python3", Command: server.Command},
		"another script in the interpreter": {UID: 1000, Executable: server.Executable, Command: "python3\x00-m\x00http.server\x00"},
		"parts moved":                       {UID: 1000, Executable: server.Executable + "p", Command: server.Command[1:]},
		"a port of root":                    {UID: 0},
	} {
		if other.Identity() == server.Identity() || other.Identity() == "" {
			t.Errorf("%s: identity = %q", name, other.Identity())
		}
	}
	if hidden := (Process{UID: 1001}).Identity(); hidden != "" {
		t.Errorf("a program that is not known has the identity %q", hidden)
	}
}

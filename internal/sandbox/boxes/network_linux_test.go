package boxes_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// TestConnectionsByNameReachTheGate has a gate that allows the port of a server on
// this machine's loopback, and nothing else.
func TestConnectionsByNameReachTheGate(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	defer served.Wait()
	defer server.Close()
	served.Go(func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("from outside\n"))
			conn.Close()
		}
	})
	number := server.Addr().(*net.TCPAddr).Port
	_, port, _ := strings.Cut(server.Addr().String(), ":")
	p, err := netpolicy.New(t.Context(), netpolicy.Config{Local: []string{port}})
	if err != nil {
		t.Fatal(err)
	}
	var gate *netgate.Gate
	w := newWorld(t, func(_ *world, c *boxes.Config) {
		c.Policy.Network, c.Policy.Ports = true, []int{number}
		c.Serve = func(s boxes.Sockets) (func() error, error) {
			gate = netgate.Serve(t.Context(), netgate.Sockets(s), netgate.Config{Policy: p})
			return gate.Close, nil
		}
	})
	out, _ := w.run("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port+"; cat <&3; exec 3<>/dev/tcp/canary.example/443; cat <&3; exec 3<>/dev/tcp/canary.example/444 || echo no such port")
	if !strings.HasPrefix(out, "from outside\n") || !strings.HasSuffix(out, "no such port") || strings.Contains(out[1:], "from outside") {
		t.Errorf("the program printed %q", out)
	}
	if blocks := gate.Blocks(); len(blocks) != 1 || blocks[0].Name != "canary.example" || blocks[0].Port != 443 {
		t.Errorf("Blocks() = %v, want canary.example:443", blocks)
	}
}

//go:build unix

package daemon_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// lateListener hands a connection on once the test lets it.
type lateListener struct {
	net.Listener
	let chan struct{}
}

func (l *lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		<-l.let
	}
	return c, err
}

// A client gave up before its request was read, and its repeat came first: the
// request starts nothing, and is not logged as a failure.
func TestARequestReadAfterItsRepeatStartsNothing(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := &lateListener{Listener: tcp, let: make(chan struct{}, 2)}
	g := apitest.ServeOn(t, ln, apitest.Script(daemontest.Hang()))
	defer close(ln.let)
	send := func(header string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body := apitest.Ask("hi")
		_, err = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
			apitest.Key, header, len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	repeat := send("X-Stainless-Retry-Count: 1\r\n")
	defer repeat.Close()
	ln.let <- struct{}{}
	apitest.Eventually(t, "the repeat runs", func() bool { return g.Backend.Runs() == 1 })
	if err := send("").Close(); err != nil {
		t.Fatal(err)
	}
	ln.let <- struct{}{}
	apitest.Eventually(t, "the log has the other", func() bool { return strings.Contains(g.Logs.String(), `"status":499`) })
	if n := g.Backend.Runs(); n != 1 {
		t.Errorf("%d runs", n)
	}
	if logs := g.Logs.String(); strings.Contains(logs, "internal_error") || strings.Contains(logs, `"WARN"`) {
		t.Errorf("it is logged as a failure: %s", logs)
	}
}

package netcause_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/netcause"
)

func TestACauseIsTheLastWord(t *testing.T) {
	t.Parallel()
	get := func(err error) error { return &url.Error{Op: "Get", URL: "http://h/?key=abc", Err: err} }
	dial := func(err error) error { return get(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	lookup := func(text string) error { return dial(&net.DNSError{Err: text, Name: "h", Server: "192.0.2.53:53"}) }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), syscall.ECONNREFUSED.Error()},
		{lookup("no such host"), "no such host"},
		{lookup("server misbehaving"), "server misbehaving"},
		{lookup("dial udp 192.0.2.53:53: connect: network is unreachable"), "its name cannot be looked up: network is unreachable"},
		{lookup("read udp 10.0.0.1:4711->192.0.2.53:53: i/o timeout"), "the name server does not answer"},
		{get(context.DeadlineExceeded), "no answer in time"},
		{get(fmt.Errorf("read body: %w", os.ErrDeadlineExceeded)), "no answer in time"},
		{get(errors.New("strange")), "strange"},
		{io.ErrUnexpectedEOF, "the connection was closed before the answer was complete"},
		{get(io.EOF), "the connection was closed before the answer was complete"},
		{get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "its certificate is not valid: certificate signed by unknown authority"},
		{dial(errors.New("missing port")), "missing port"},
		{errors.New("no network at all"), "no network at all"},
	} {
		got := netcause.Of(tt.err)
		if got.Error() != tt.want {
			t.Errorf("Of(%v) = %q, want %q", tt.err, got, tt.want)
		}
		if u, ok := errors.AsType[*url.Error](got); ok {
			t.Errorf("error %v still has the URL %s", tt.err, u.URL)
		}
	}
	if err := netcause.Of(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the cause %v is not %v any more", err, syscall.ECONNREFUSED)
	}
}

// The errors of real servers that are not what their address says.
func TestCausesOfRealServers(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // The handshake is to fail.
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close() // It was accepted, and that is all.
		}
	}))
	defer gone.Close()
	for address, want := range map[string]string{
		secure.URL: "its certificate is not valid: ",
		"https" + strings.TrimPrefix(plain.URL, "http"): "it does not speak TLS; ",
		gone.URL:             "the connection was closed before the answer was complete",
		"http://127.0.0.1:1": syscall.ECONNREFUSED.Error(),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := new(http.Client).Do(req)
		if err == nil {
			_ = res.Body.Close()
			t.Fatal(address, "answers")
		}
		if got := netcause.Of(err).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("the cause of %v is %q, want %q", err, got, want)
		}
	}
}

package setup

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

func TestOnThisMachine(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"http://127.0.0.1:6449": true, "http://localhost:1": true, "http://[::1]:1": true, "http://127.1.2.3": true,
		"http://0.0.0.0:1": false, "http://192.0.2.1": false, "http://localhost.example": false, "https://gateway.example": false, "://": false,
	} {
		if got := OnThisMachine(base); got != want {
			t.Errorf("onThisMachine(%q) = %t", base, got)
		}
	}
}

func TestNetCauseIsTheLastWord(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error {
		return &url.Error{Op: "Get", URL: "http://h/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	tests := []struct {
		err  error
		want string
	}{
		{wrap(os.NewSyscallError("connect", syscall.ECONNREFUSED)), syscall.ECONNREFUSED.Error()},
		{wrap(&net.DNSError{Err: "no such host", Name: "h"}), "no such host"},
		{&url.Error{Op: "Get", URL: "http://h/", Err: context.DeadlineExceeded}, "no answer in time"},
		{&url.Error{Op: "Get", URL: "http://h/", Err: errors.New("strange")}, "strange"},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
	}
	for _, tt := range tests {
		if got := NetCause(tt.err).Error(); got != tt.want {
			t.Errorf("netCause(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

package setup

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// OnThisMachine reports whether a URL leads nowhere else.
func OnThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	return LoopbackHost(u.Hostname())
}

// LoopbackHost reports whether a host name or address is this machine only.
func LoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// NetCause is the part of a network error that people need: the message has
// the address already.
func NetCause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("no answer in time")
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// NoRedirect hands a redirect out as the answer that it is. A gateway and an
// agent-server send none, and a key must not follow one.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

package setup

import (
	"net"
	"net/http"
	"net/url"
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

// NoRedirect hands a redirect out as the answer that it is. A gateway and an
// agent-server send none, and a key must not follow one.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

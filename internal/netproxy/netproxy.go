// Package netproxy chooses the HTTP proxy of a request by the variables that
// every program knows: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, also in
// lower case. It is net/http's own rule with two differences: the environment
// comes in as a function, and ALL_PROXY counts, as it does for OpenHands. No
// error shows a proxy's password.
package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Rule is the rule of one environment, for http.Transport.Proxy: the URL of
// the proxy for a request, or nil for none. The environment is read once.
// Requests to this machine never go to a proxy.
func Rule(getenv func(string) string) func(*http.Request) (*url.URL, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v
			}
			if v := strings.TrimSpace(getenv(strings.ToLower(name))); v != "" {
				return v
			}
		}
		return ""
	}
	forHTTP, forHTTPS := first("HTTP_PROXY", "ALL_PROXY"), first("HTTPS_PROXY", "ALL_PROXY")
	direct := parseExceptions(first("NO_PROXY"))
	return func(r *http.Request) (*url.URL, error) {
		proxy, name := forHTTP, "HTTP_PROXY"
		if r.URL.Scheme == "https" {
			proxy, name = forHTTPS, "HTTPS_PROXY"
		}
		if proxy == "" || direct.cover(r.URL) {
			return nil, nil
		}
		u, err := parse(proxy)
		if err != nil {
			return nil, fmt.Errorf("the variable %s is not a proxy URL; write it as http://HOST:PORT", name)
		}
		return u, nil
	}
}

var errNoProxy = errors.New("not a proxy URL")

// parse reads a proxy as people write it, with or without a scheme.
func parse(proxy string) (*url.URL, error) {
	if !strings.Contains(proxy, "://") {
		proxy = "http://" + proxy
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		return nil, errNoProxy // the original quotes the value, which may hold a password
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return u, nil
	}
	return nil, errNoProxy
}

// RefusedError is a proxy that does not let a connection through.
type RefusedError struct {
	Proxy  string // host and port
	Target string
	Status int // of the proxy's answer, such as 407
}

// Error names the proxy and the target.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the proxy %s refuses to connect to %s: %d %s", e.Proxy, e.Target, e.Status, http.StatusText(e.Status))
}

// Connected is for http.Transport.OnProxyConnectResponse: its error is a
// *RefusedError where net/http's own is only the text of the status.
func Connected(_ context.Context, proxy *url.URL, asked *http.Request, answered *http.Response) error {
	if answered.StatusCode == http.StatusOK {
		return nil
	}
	return &RefusedError{Proxy: proxy.Host, Target: asked.Host, Status: answered.StatusCode}
}

// exceptions are the hosts of NO_PROXY.
type exceptions struct {
	all  bool
	list []exception
}

// exception is one of them; what is zero fits everything.
type exception struct {
	network netip.Prefix
	suffix  string // of a domain, with a dot in front
	domain  string
	port    string
}

func parseExceptions(value string) exceptions {
	var out exceptions
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if entry == "" {
			continue
		}
		if entry == "*" {
			out.all = true
			continue
		}
		if network, err := netip.ParsePrefix(entry); err == nil {
			out.list = append(out.list, exception{network: network.Masked()})
			continue
		}
		var e exception
		if host, port, err := net.SplitHostPort(entry); err == nil {
			entry, e.port = host, port
		}
		if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
			e.network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		} else {
			entry = strings.TrimPrefix(entry, "*")
			e.suffix = "." + strings.TrimPrefix(entry, ".")
			if !strings.HasPrefix(entry, ".") {
				e.domain = entry
			}
		}
		out.list = append(out.list, e)
	}
	return out
}

// cover reports whether requests to u go without a proxy.
func (x exceptions) cover(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	if host == "localhost" || isAddr && addr.Unmap().IsLoopback() || x.all {
		return true
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for _, e := range x.list {
		switch {
		case e.port != "" && e.port != port:
		case e.network.IsValid():
			if isAddr && e.network.Contains(addr.Unmap()) {
				return true
			}
		case !isAddr && (host == e.domain || strings.HasSuffix(host, e.suffix)):
			return true
		}
	}
	return false
}

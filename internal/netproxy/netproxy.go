// Package netproxy chooses the HTTP proxy of a request by the variables that
// every program knows: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, also in
// lower case. It is net/http's own rule with three differences: the environment
// comes in as a function, ALL_PROXY counts, as it does for OpenHands, and no
// error shows a proxy's password.
package netproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Rule reads the rule of one environment, for http.Transport.Proxy: the URL of the proxy
// for a request, or nil for none. The environment is read once. Requests to this machine
// never go to a proxy.
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
	forHTTP, forHTTPS := checked(first("HTTP_PROXY", "ALL_PROXY")), checked(first("HTTPS_PROXY", "ALL_PROXY"))
	choose := (&httpproxy.Config{HTTPProxy: forHTTP, HTTPSProxy: forHTTPS, NoProxy: first("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		asked := *r.URL
		asked.Host = strings.Replace(asked.Host, asked.Hostname(), strings.TrimSuffix(asked.Hostname(), "."), 1)
		u, err := choose(&asked)
		if err != nil || u == nil || u.Host != invalid {
			return u, err
		}
		return nil, fmt.Errorf("the variable %s is not a proxy URL; write it as http://HOST:PORT", strings.ToUpper(r.URL.Scheme)+"_PROXY")
	}
}

// invalid stands for a proxy whose URL cannot be read. The variable may hold a password.
const invalid = "proxy.invalid"

// checked reads a proxy as people write it, with or without a scheme; empty for none.
func checked(proxy string) string {
	if proxy == "" {
		return ""
	}
	if !strings.Contains(proxy, "://") {
		proxy = "http://" + proxy
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		return "http://" + invalid
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return proxy
	}
	return "http://" + invalid
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

// Connected implements http.Transport.OnProxyConnectResponse: its error is a
// *RefusedError where net/http's own is only the text of the status.
func Connected(_ context.Context, proxy *url.URL, asked *http.Request, answered *http.Response) error {
	if answered.StatusCode == http.StatusOK {
		return nil
	}
	return &RefusedError{Proxy: proxy.Host, Target: asked.Host, Status: answered.StatusCode}
}

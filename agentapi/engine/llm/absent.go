package llm

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/truncate"
)

// absentError is a server that is not there. Its text names the host and the
// port, never the rest of a URL, which may hold a password.
type absentError struct {
	host  string // with the port, where the URL names one
	proxy string // of the host, with its port; empty: none
	err   error
}

// absent returns an error of a dial as an [absentError], or nil if a server may be at
// the other end.
func absent(host, proxy string, err error) error {
	if netcause.IsRefused(err) || netcause.IsNoHost(err) {
		return &absentError{host: host, proxy: proxy, err: err}
	}
	return nil
}

func isAbsent(err error) bool {
	_, ok := errors.AsType[*absentError](err)
	return ok
}

func (e *absentError) Error() string {
	name := e.host
	if e.proxy != "" {
		name = "the proxy " + e.proxy
	}
	if netcause.IsNoHost(e.err) {
		return name + " cannot be reached: no such host"
	}
	return name + " refuses connections"
}

func (e *absentError) Unwrap() error { return e.err }

// repair is what to do about a server that is not there.
func (e *absentError) repair(profile string) string {
	show := "ohgw profiles show " + profile
	switch {
	case e.proxy != "":
		return "Check the proxy (HTTPS_PROXY, HTTP_PROXY), or name the provider's host in NO_PROXY; then run ohgw doctor."
	case !netcause.IsNoHost(e.err) && isLoopback(e.host):
		return "Start the model server at this address, or correct the profile's base URL (" + show + "); then run ohgw doctor."
	}
	return "Check the network and the profile's base URL (" + show + "); then run ohgw doctor."
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// briefly explains why an attempt failed, in a few words: without the advice that
// belongs to the end of all attempts.
func (m *model) briefly(err error, failed *Error) string {
	host := hostPort(m.route.url)
	gone, isGone := errors.AsType[*absentError](err)
	_, refused := errors.AsType[*wire.Failure](err)
	switch {
	case isGone:
		return gone.Error()
	case errors.Is(err, errTimeout):
		return host + " sent no data for " + m.timeout().String()
	case errors.Is(err, errTooSlow):
		return host + " took longer than " + m.longest().String()
	case refused && failed.Status == http.StatusTooManyRequests:
		return host + " limits the rate of requests (429)"
	case refused && http.StatusText(failed.Status) != "":
		return fmt.Sprintf("%s answered %d %s", host, failed.Status, http.StatusText(failed.Status))
	}
	text := strings.Join(strings.Fields(failed.Err.Error()), " ") // cleaned of keys
	return truncate.Within(text, 160, "…")
}

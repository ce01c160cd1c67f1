package netgate

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// maxHeaders limits the headers of a request and of a response.
const maxHeaders = 64 << 10

// What is still read of a client after a refusal.
const (
	lingerLimit = 2 * time.Second
	maxLinger   = 1 << 20
)

// serveProxy serves one request to the proxy: CONNECT, or an http:// URL. Each
// connection has one request; clients open another one for the next. A client without
// the token learns nothing, and is not recorded: it may be anybody on this machine.
func (g *Gate) serveProxy(client net.Conn, token string) {
	if client.SetDeadline(after(helloLimit)) != nil {
		return
	}
	limited := &io.LimitedReader{R: client, N: maxHeaders}
	in := bufio.NewReader(limited)
	r, err := http.ReadRequest(in)
	if err != nil {
		if limited.N <= 0 {
			reply(client, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the headers have more than %d bytes", maxHeaders))
		}
		return
	}
	limited.N = math.MaxInt64
	if client.SetDeadline(time.Time{}) != nil {
		return
	}
	if token != "" && !hasToken(r, token) {
		reply(client, http.StatusProxyAuthRequired, "the proxy of a sandbox wants the password of its programs")
		return
	}
	t, status, err := targetOf(r)
	if err != nil {
		if status == http.StatusForbidden {
			g.blocks.add(netpolicy.Quote(r.URL.Hostname()), t.port, err.Error())
		}
		reply(client, status, err.Error())
		return
	}
	if r.Method == http.MethodConnect {
		err = g.tunnel(t, client, in)
	} else {
		err = g.forwardRequest(t, client, r)
	}
	if err != nil {
		g.note(t, err)
	}
}

// hasToken reports whether a request has the password.
func hasToken(r *http.Request, token string) bool {
	basic := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	_, password, ok := basic.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(password), []byte(token)) == 1
}

// targetOf reads the host and the port of a request, or returns the error with its
// status.
func targetOf(r *http.Request) (t target, status int, err error) {
	port := r.URL.Port()
	switch {
	case r.Method == http.MethodConnect:
		if port == "" {
			return t, http.StatusBadRequest, errors.New("CONNECT needs HOST:PORT")
		}
	case r.URL.Scheme != "http" || r.URL.Host == "":
		return t, http.StatusBadRequest, errors.New("this is a proxy for http:// URLs and CONNECT, and not a web server")
	case port == "":
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return t, http.StatusBadRequest, fmt.Errorf("%s is not a port", netpolicy.Quote(port))
	}
	t.port = uint16(n)
	if t.host, err = netpolicy.ParseHost(r.URL.Hostname()); err != nil {
		return t, http.StatusForbidden, err
	}
	return t, 0, nil
}

// tunnel serves CONNECT. The client hears of a refusal before it sends anything.
func (g *Gate) tunnel(t target, client net.Conn, in io.Reader) error {
	server, err := g.reach(g.ctx, t)
	if err != nil {
		g.fail(t, client, err)
		return nil
	}
	g.own(server)
	defer g.release(server)
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return fmt.Errorf("answer the client: %w", err)
	}
	first, err := g.firstBytes(t, client, in)
	if err != nil {
		return err
	}
	return g.forward(client, in, server, first)
}

// forwardRequest sends a request to its server and the response to the client. The
// Host header is that of the URL, which the policy has seen.
func (g *Gate) forwardRequest(t target, client net.Conn, r *http.Request) error {
	server, err := g.reach(g.ctx, t)
	if err != nil {
		g.fail(t, client, err)
		return nil
	}
	g.own(server)
	defer g.release(server)
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return idle{server}, nil },
		DisableCompression:     true,
		DisableKeepAlives:      true,
		ResponseHeaderTimeout:  idleLimit,
		MaxResponseHeaderBytes: maxHeaders,
	}
	defer transport.CloseIdleConnections()
	out := r.WithContext(g.ctx)
	out.RequestURI, out.URL.User, out.Host = "", nil, r.URL.Host
	out.Close = true
	expects := strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	out.Header.Del("Expect")
	removeHops(out.Header)
	if expects {
		if _, err := io.WriteString(client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return fmt.Errorf("answer the client: %w", err)
		}
	}
	response, err := transport.RoundTrip(out)
	if err != nil {
		err = fmt.Errorf("no response from %s: %w", t.host, err)
		g.fail(t, client, err)
		return nil
	}
	defer response.Body.Close()
	removeHops(response.Header)
	response.Close = true
	if !r.ProtoAtLeast(1, 1) {
		response.ProtoMinor, response.TransferEncoding = 0, nil
	}
	if err := response.Write(idle{client}); err != nil {
		return fmt.Errorf("send the response of %s: %w", t.host, err)
	}
	return nil
}

// removeHops removes the headers that are for one connection (RFC 9110, 7.6.1),
// with the credentials for a proxy.
func removeHops(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}

// fail records why a connection failed and then answers with the reason: 403 for a
// refusal, 502 for the rest. When the program hears of it, all others have been told.
func (g *Gate) fail(t target, client net.Conn, err error) {
	g.note(t, err)
	if refused, ok := errors.AsType[*refusal](err); ok {
		reply(client, http.StatusForbidden, refused.why)
		return
	}
	reply(client, http.StatusBadGateway, err.Error())
}

// reply writes a response of the proxy itself. The program may have gone already.
func reply(client net.Conn, status int, why string) {
	body := why + " (ohgw)\n"
	if client.SetWriteDeadline(after(helloLimit)) != nil {
		return
	}
	more := ""
	if status == http.StatusProxyAuthRequired {
		more = "Proxy-Authenticate: Basic realm=\"ohgw\"\r\n"
	}
	_, err := fmt.Fprintf(client, "HTTP/1.1 %d %s\r\n%sContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), more, len(body), body)
	// Closing a connection with unread data resets it, and the client would lose the
	// reason. So what it still sends is read for a while.
	half, ok := client.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil || client.SetReadDeadline(after(lingerLimit)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, client, maxLinger)
}

// idle is a connection each of whose reads and writes has the idle limit.
type idle struct{ net.Conn }

func (c idle) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(after(idleLimit)); err != nil {
		return 0, fmt.Errorf("limit the time of a connection: %w", err)
	}
	return c.Conn.Read(p)
}

func (c idle) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(after(idleLimit)); err != nil {
		return 0, fmt.Errorf("limit the time of a connection: %w", err)
	}
	return c.Conn.Write(p)
}

package netgate_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// The tests are a sandbox without namespaces: Linux' loopback interface has all of
// 127.0.0.0/8, so clients connect to the addresses of names. What the gate resolves
// and dials is a table: no test asks another machine.

var public = netip.MustParseAddr("93.184.215.14")

// world is a gate and what it reaches.
type world struct {
	t        *testing.T
	gate     *netgate.Gate
	resolver *net.Resolver
	ports    map[uint16]string // of the gate: the port that programs use, and where it listens
	proxy    string
	listener net.Listener // of the proxy

	mu       sync.Mutex
	servers  map[netip.AddrPort]string // public address to the one of a test's server
	hosts    map[string][]netip.Addr
	resolved []string
	dialled  []string
	blocked  []netgate.Block
}

// port makes a listener say that it has another port: tests cannot listen on 443.
type port struct {
	net.Listener
	number int
}

func (p port) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: p.number} }

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func open(t *testing.T, policy netpolicy.Config, change func(*netgate.Config)) *world {
	t.Helper()
	p, err := netpolicy.New(t.Context(), policy)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, ports: map[uint16]string{}, servers: map[netip.AddrPort]string{},
		hosts: map[string][]netip.Addr{"example.com.": {public}, "canary.example.": {public}},
	}
	var s netgate.Sockets
	for _, number := range p.Ports() {
		l := listen(t, "0.0.0.0:0")
		w.ports[number] = l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':'):]
		s.Capture = append(s.Capture, port{l, int(number)})
	}
	if s.DNS, err = net.ListenPacket("udp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.DNSTCP, s.Proxy = listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	w.proxy, w.listener = s.Proxy.Addr().String(), s.Proxy
	w.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if strings.HasPrefix(network, "tcp") {
			return new(net.Dialer).DialContext(ctx, network, s.DNSTCP.Addr().String())
		}
		return new(net.Dialer).DialContext(ctx, network, s.DNS.LocalAddr().String())
	}}
	c := netgate.Config{
		Policy: p, Dial: w.dial, Resolve: w.resolve,
		Own:     func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil },
		Blocked: func(b netgate.Block) { w.mu.Lock(); w.blocked = append(w.blocked, b); w.mu.Unlock() },
		Now:     func() time.Time { return time.Unix(1700000000, 0) },
	}
	if change != nil {
		change(&c)
	}
	w.gate = netgate.Serve(t.Context(), s, c)
	t.Cleanup(func() { w.gate.Close() })
	return w
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolved = append(w.resolved, name)
	if found, ok := w.hosts[name]; ok {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (w *world) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, addr.String())
	server := w.servers[addr]
	w.mu.Unlock()
	if server == "" {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", server)
}

// serve puts a server behind a public address.
func (w *world) serve(number uint16, server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[netip.AddrPortFrom(public, number)] = server
}

// asked is what the gate asked of the world outside.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(append([]string(nil), w.resolved...), w.dialled...)
}

// connect does what a program in the sandbox does.
func (w *world) connect(name string, number uint16) *net.TCPConn {
	w.t.Helper()
	found, err := w.resolver.LookupNetIP(w.t.Context(), "ip", name+".")
	if err != nil || len(found) != 1 {
		w.t.Fatalf("look up %s: %v, %v; want one address", name, found, err)
	}
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", found[0].String()+w.ports[number])
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// closed waits for the end of a connection that may not transfer a byte.
func closed(t *testing.T, conn net.Conn) {
	t.Helper()
	if got, err := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("the connection got %q, %v; want its end", got, err)
	}
}

// tlsServer is a web server whose certificate is for example.com.
func (w *world) tlsServer() *http.Client {
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "hello %s", r.Host)
	}))
	w.t.Cleanup(server.Close)
	w.serve(443, server.Listener.Addr().String())
	client := server.Client()
	client.Transport.(*http.Transport).DisableKeepAlives = true
	client.Transport.(*http.Transport).DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
		return w.connect(strings.TrimSuffix(addr, ":443"), 443), nil
	}
	return client
}

func get(t *testing.T, client *http.Client, address string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

func (w *world) wantBlocks(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, b := range w.blocked {
		if line := fmt.Sprintf("%s:%d %s", b.Name, b.Port, b.Why); !slices.Contains(got, line) {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("blocks differ (-want +got):\n%s", diff)
	}
}

func TestAnAllowedNameIsReached(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	if got, err := get(t, w.tlsServer(), "https://example.com/"); got != "200 hello example.com" {
		t.Errorf("GET = %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{"example.com.", "93.184.215.14:443"}, w.asked()); diff != "" {
		t.Errorf("asked outside differs (-want +got):\n%s", diff)
	}
	w.wantBlocks()
}

func TestARefusedNameLeavesNoTrace(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	client := w.tlsServer()
	for range 2 {
		if got, err := get(t, client, "https://canary.example/secret"); err == nil {
			t.Errorf("GET = %q, want an error", got)
		}
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("asked outside: %v, want nothing", asked)
	}
	w.wantBlocks("canary.example:443 host canary.example is not on the allow list")
	if blocks := w.gate.Blocks(); len(blocks) != 1 || blocks[0].Time.Unix() != 1700000000 {
		t.Errorf("Blocks() = %v", blocks)
	}
}

func TestTheServerNameMustBeTheAllowedOne(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	w.tlsServer()
	for name, first := range map[string]func(net.Conn){
		"another name": func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{ServerName: "canary.example", InsecureSkipVerify: true}).HandshakeContext(t.Context())
		},
		"no name": func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context())
		},
		"no TLS": func(c net.Conn) { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n") },
	} {
		conn := w.connect("example.com", 443)
		first(conn)
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("asked outside: %v, want nothing", asked)
	}
	if blocks := w.gate.Blocks(); len(blocks) != 3 {
		t.Errorf("Blocks() = %v, want three", blocks)
	}
}

// echo is a server that reads until the end and then answers.
func (w *world) echo(number uint16) {
	l := listen(w.t, "127.0.0.1:0")
	w.serve(number, l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				all, _ := io.ReadAll(c)
				fmt.Fprintf(c, "got %d bytes", len(all))
			}()
		}
	}()
}

func TestOnePortIsOnlyForEntriesWithIt(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com:22", "canary.example"}}, nil)
	w.echo(22)
	conn := w.connect("example.com", 22)
	if _, err := conn.Write(make([]byte, 300_000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil { // the server answers after the end
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "got 300000 bytes" {
		t.Errorf("got %q, %v", got, err)
	}
	closed(t, w.connect("canary.example", 22))
	w.wantBlocks("canary.example:22 port 22 of host canary.example is not on the allow list")
}

// TestNoForbiddenAddressIsDialled has what a name on the list may resolve to.
func TestNoForbiddenAddressIsDialled(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com:22"}}, nil)
	for _, text := range []string{
		"127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "8.8.4.4", "::ffff:8.8.4.4", "0.0.0.0", "fe80::1%lo",
	} {
		w.mu.Lock()
		w.hosts["example.com."] = []netip.Addr{netip.MustParseAddr(text)}
		w.mu.Unlock()
		closed(t, w.connect("example.com", 22))
	}
	if w.dialled != nil {
		t.Errorf("dialled %v", w.dialled)
	}
	for _, b := range w.gate.Blocks() {
		if !strings.Contains(b.Why, "never dialled") {
			t.Errorf("the reason is %q", b.Why)
		}
	}
	w.echo(22)
	w.mu.Lock()
	w.hosts["example.com."] = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:93.184.215.14")}
	w.mu.Unlock()
	conn := w.connect("example.com", 22)
	_ = conn.CloseWrite()
	if got, _ := io.ReadAll(conn); string(got) != "got 0 bytes" {
		t.Errorf("got %q, want the answer of the public address", got)
	}
}

// TestRebindingIsNotPossible has a name whose second look-up would be loopback.
func TestRebindingIsNotPossible(t *testing.T) {
	t.Parallel()
	var lookups atomic.Int32
	w := open(t, netpolicy.Config{Allow: []string{"example.com:22"}}, func(c *netgate.Config) {
		c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if lookups.Add(1) > 1 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{public}, nil
		}
	})
	w.echo(22)
	conn := w.connect("example.com", 22)
	_ = conn.CloseWrite()
	if got, _ := io.ReadAll(conn); string(got) != "got 0 bytes" || lookups.Load() != 1 {
		t.Errorf("got %q after %d look-ups", got, lookups.Load())
	}
}

func TestAMirrorIsReachedAtItsAddressAlone(t *testing.T) {
	t.Parallel()
	mirror := netip.MustParseAddr("10.1.2.3")
	w := open(t, netpolicy.Config{Allow: []string{"@python"}, Expand: func(context.Context, string) ([]netpolicy.Entry, error) {
		return []netpolicy.Entry{{Host: netpolicy.Host{Name: "mirror"}, Port: 3141, Only: []netip.Addr{mirror}}}, nil
	}}, nil)
	w.mu.Lock()
	w.hosts["mirror"] = []netip.Addr{netip.MustParseAddr("10.1.2.4"), mirror}
	w.mu.Unlock()
	closed(t, w.connect("mirror", 3141)) // the table of servers has none
	closed(t, w.connect("mirror", 443))
	if diff := cmp.Diff([]string{"mirror", "10.1.2.3:3141"}, w.asked()); diff != "" {
		t.Errorf("asked outside differs (-want +got):\n%s", diff)
	}
}

func (w *world) throughProxy() *http.Client {
	client := w.tlsServer()
	transport := client.Transport.(*http.Transport)
	transport.DialContext = nil
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: w.proxy, User: url.UserPassword("me", "hunter2")})
	return client
}

func TestTheProxyHasTheSamePolicy(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	client := w.throughProxy()
	if got, err := get(t, client, "https://example.com/"); got != "200 hello example.com" {
		t.Errorf("CONNECT = %q, %v", got, err)
	}
	if got, err := get(t, client, "https://canary.example/"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("CONNECT = %q, %v; want it forbidden", got, err)
	}
	if got, _ := get(t, client, "http://canary.example/x"); got != "403 host canary.example is not on the allow list (ohgw)\n" {
		t.Errorf("GET = %q", got)
	}
	for _, spelling := range []string{"localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0", "169.254.169.254"} {
		if got, err := get(t, client, "http://"+spelling+":6449/v1/models"); !strings.HasPrefix(got, "403 ") {
			t.Errorf("GET %s = %q, %v; want 403", spelling, got, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff([]string{"93.184.215.14:443"}, w.dialled); diff != "" {
		t.Errorf("dialled differs (-want +got):\n%s", diff)
	}
}

func TestATunnelChecksTheServerName(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	w.tlsServer()
	conn, in := w.raw("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	if line, err := in.ReadString('\n'); !strings.Contains(line, " 200 ") {
		t.Fatalf("CONNECT = %q, %v", line, err)
	}
	_, _ = in.ReadString('\n')
	_ = tls.Client(conn, &tls.Config{ServerName: "canary.example", InsecureSkipVerify: true}).HandshakeContext(t.Context())
	w.wantBlocks(`example.com:443 the TLS connection to host example.com names the server "canary.example"`)
}

// raw sends text to the proxy.
func (w *world) raw(text string) (net.Conn, *bufio.Reader) {
	w.t.Helper()
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", w.proxy)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestHeadersOfOneConnectionAreNotForwarded(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
	seen := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- r
		rw.Header().Set("Proxy-Authenticate", "Basic")
		rw.Header().Set("Keep-Alive", "timeout=5")
		fmt.Fprintf(rw, "%d bytes for %s", len(body), r.Host)
	}))
	t.Cleanup(server.Close)
	w.serve(80, server.Listener.Addr().String())
	_, in := w.raw("POST http://me:hunter2@example.com/x?y=1 HTTP/1.1\r\nHost: canary.example\r\nProxy-Authorization: Basic aHVudGVyMg==\r\n" +
		"Connection: X-Mine, close\r\nX-Mine: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: websocket\r\nX-Kept: 2\r\nContent-Length: 5\r\n\r\nhello")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if string(body) != "5 bytes for example.com" || response.Header.Get("Proxy-Authenticate") != "" || response.Header.Get("Keep-Alive") != "" {
		t.Errorf("response %q with %v", body, response.Header)
	}
	r := <-seen
	for _, name := range []string{"Proxy-Authorization", "X-Mine", "Proxy-Connection", "Te", "Upgrade", "Authorization"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s is forwarded", name)
		}
	}
	if r.Header.Get("X-Kept") != "2" || r.RequestURI != "/x?y=1" {
		t.Errorf("the request is %s with %v", r.RequestURI, r.Header)
	}
}

func TestTheProxyExplainsWhatItCannotServe(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com", "gone.example"}}, nil)
	for request, want := range map[string]string{
		"GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n":                                "400 this is a proxy for http:// URLs and CONNECT, and not a web server (ohgw)",
		"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n":              "400 this is a proxy",
		"CONNECT example.com HTTP/1.1\r\nHost: example.com\r\n\r\n":                   "400 CONNECT needs HOST:PORT",
		"CONNECT example.com:99999 HTTP/1.1\r\nHost: example.com\r\n\r\n":             `400 "99999" is not a port`,
		"CONNECT gone.example:443 HTTP/1.1\r\nHost: gone.example\r\n\r\n":             "502 host gone.example does not exist",
		"GET http://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                         "502 connect to example.com: connection refused",
		"GET http://x/ HTTP/1.1\r\nX: " + strings.Repeat("x", 80_000) + "\r\n\r\n":    "431 the headers have more than 65536 bytes",
		"POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n123456789": "403 host x is not on the allow list",
	} {
		conn, in := w.raw(request)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Errorf("%.40q: %v", request, err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		if got := fmt.Sprintf("%d %s", response.StatusCode, body); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q = %q, want %q", request, got, want)
		}
		conn.Close()
	}
}

func TestHeldConnectionsShareOneQuestion(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan netgate.Block, 10), make(chan bool)
	w := open(t, netpolicy.Config{Allow: []string{"example.com"}, Deny: []string{"evil.example"}}, func(c *netgate.Config) {
		c.Ask = func(ctx context.Context, b netgate.Block) bool {
			asked <- b
			select {
			case allowed := <-answer:
				return allowed
			case <-ctx.Done():
				return false
			}
		}
	})
	w.echo(22)
	w.mu.Lock()
	w.hosts["new.example."] = []netip.Addr{public}
	w.mu.Unlock()

	held := w.connect("new.example", 22)
	_ = held.CloseWrite()
	if b := <-asked; b.Name != "new.example" || b.Port != 22 {
		t.Errorf("asked about %+v", b)
	}
	if outside := w.asked(); len(outside) > 0 {
		t.Errorf("asked outside before the answer: %v", outside)
	}
	answer <- true
	if got, _ := io.ReadAll(held); string(got) != "got 0 bytes" {
		t.Errorf("the held connection got %q", got)
	}

	refused := w.connect("new.example", 22)
	<-asked // the confirmation was for one connection
	answer <- false
	closed(t, refused)
	closed(t, w.connect("new.example", 22)) // it is not asked again
	closed(t, w.connect("evil.example", 443))
	if len(asked) > 0 {
		t.Errorf("asked again about %+v", <-asked)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{Allow: []string{"example.com:22"}}, func(c *netgate.Config) {
		c.Ask = func(ctx context.Context, _ netgate.Block) bool { <-ctx.Done(); return true }
	})
	w.echo(22)
	running, held, silent := w.connect("example.com", 22), w.connect("other.example", 22), w.connect("example.com", 443)
	if err := w.gate.Close(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{running, held, silent} {
		closed(t, conn)
	}
	if _, err := w.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the proxy still listens: %v", err)
	}
	if err := w.gate.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestQuestionsOverTCPAreAnswered(t *testing.T) {
	t.Parallel()
	w := open(t, netpolicy.Config{}, nil)
	dial := w.resolver.Dial
	w.resolver.Dial = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) }
	found, err := w.resolver.LookupNetIP(t.Context(), "ip4", "a.example.")
	if err != nil || len(found) != 1 || !netip.MustParsePrefix("127.1.0.0/16").Contains(found[0].Unmap()) {
		t.Errorf("LookupNetIP = %v, %v", found, err)
	}
	if _, err := w.resolver.LookupTXT(t.Context(), "a.example."); err == nil {
		t.Error("a TXT question is answered")
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("asked outside: %v", asked)
	}
}

// A program that ends with a refusal can end the turn of its agent, too.
func TestARefusalIsToldBeforeTheProgramHearsIt(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"CONNECT canary.example:80 HTTP/1.1\r\nHost: canary.example:80\r\n\r\n", "GET http://canary.example/ HTTP/1.1\r\nHost: canary.example\r\n\r\n"} {
		w := open(t, netpolicy.Config{Allow: []string{"example.com"}}, nil)
		conn, answers := w.raw(request)
		if got, err := io.ReadAll(answers); err != nil || !strings.Contains(string(got), " 403 ") {
			t.Errorf("%q: body = %q, error %v", request, got, err)
		}
		if blocks := w.gate.Blocks(); len(blocks) != 1 { // the connection is still open
			t.Errorf("%q: Blocks() = %v, want one", request, blocks)
		}
		conn.Close()
		if err := w.gate.Close(); err != nil {
			t.Error(err)
		}
		if blocks := w.gate.Blocks(); len(blocks) != 1 || len(w.blocked) != 1 {
			t.Errorf("%q: Blocks() = %v, told of %v; want each once", request, blocks, w.blocked)
		}
	}
}

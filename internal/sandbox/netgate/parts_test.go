package netgate

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func query(t testing.TB, name string, kind dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: class}},
	}
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestTheResolverAnswersByItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		kind  dnsmessage.Type
		class dnsmessage.Class
		code  dnsmessage.RCode
		addr  string
	}{
		{"a.example.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, "127.1.0.1"},
		{"A.Example.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, "127.1.0.1"},
		{"b.example.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, "127.1.0.2"},
		{"a.example.", dnsmessage.TypeAAAA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, ""},
		{"a.example.", 64, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, ""},
		{"a.example.", 65, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, ""},
		{"a.example.", dnsmessage.TypeTXT, dnsmessage.ClassINET, dnsmessage.RCodeRefused, ""},
		{"a.example.", dnsmessage.TypeMX, dnsmessage.ClassINET, dnsmessage.RCodeRefused, ""},
		{"1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.ClassINET, dnsmessage.RCodeRefused, ""},
		{"a.example.", dnsmessage.TypeALL, dnsmessage.ClassINET, dnsmessage.RCodeRefused, ""},
		{"a.example.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, dnsmessage.RCodeRefused, ""},
		{"localhost.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, "127.0.0.1"},
		{"x.localhost.", dnsmessage.TypeAAAA, dnsmessage.ClassINET, dnsmessage.RCodeSuccess, ""},
		{"a_b.example.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeNameError, ""},
		{"127.0.0.1.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeNameError, ""},
		{"0x7f.1.", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeNameError, ""},
		{".", dnsmessage.TypeA, dnsmessage.ClassINET, dnsmessage.RCodeNameError, ""},
	}
	known := newNames(10)
	for _, tt := range tests {
		var m dnsmessage.Message
		if err := m.Unpack(answer(query(t, tt.name, tt.kind, tt.class), known)); err != nil {
			t.Fatal(err)
		}
		addr := ""
		if len(m.Answers) == 1 {
			addr = netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A).String()
		}
		if m.ID != 7 || !m.Response || m.RCode != tt.code || addr != tt.addr {
			t.Errorf("%s %v = %v %q, want %v %q", tt.name, tt.kind, m.RCode, addr, tt.code, tt.addr)
		}
	}
}

func TestMalformedMessagesGetNoAnswer(t *testing.T) {
	t.Parallel()
	good := query(t, "a.example.", dnsmessage.TypeA, dnsmessage.ClassINET)
	response := bytes.Clone(good)
	response[2] |= 0x80
	for _, message := range [][]byte{nil, {1}, good[:11], response} {
		if got := answer(message, newNames(10)); got != nil {
			t.Errorf("answer(%x) = %x", message, got)
		}
	}
	update, two := bytes.Clone(good), append(bytes.Clone(good), good[12:]...)
	update[2] |= 5 << 3
	two[5] = 2
	for want, message := range map[dnsmessage.RCode][]byte{
		dnsmessage.RCodeFormatError: good[:20], dnsmessage.RCodeNotImplemented: update,
	} {
		if got := answer(message, newNames(10)); len(got) < 12 || dnsmessage.RCode(got[3]&15) != want {
			t.Errorf("answer(%x) = %x, want %v", message, got, want)
		}
	}
	if got := answer(two, newNames(10)); dnsmessage.RCode(got[3]&15) != dnsmessage.RCodeFormatError {
		t.Errorf("two questions: %x", got)
	}
}

func TestTheTableOfNamesIsBounded(t *testing.T) {
	t.Parallel()
	n := newNames(3)
	first := n.address("a")
	n.address("b")
	n.address("c")
	if n.address("a") != first {
		t.Error("a has got another address")
	}
	n.address("d") // b was not used for the longest time
	if name, ok := n.name(first); !ok || name != "a" {
		t.Errorf("name(%s) = %q, %v", first, name, ok)
	}
	if name, ok := n.name(netip.MustParseAddr("127.1.0.2")); ok {
		t.Errorf("the address of b has the name %q", name)
	}
	for i := range 70_000 {
		addr := n.address("n" + strconv.Itoa(i))
		if addr.As4()[1] != 1 || addr == netip.MustParseAddr("127.1.0.0") || addr == netip.MustParseAddr("127.1.255.255") {
			t.Fatalf("name %d has the address %s", i, addr)
		}
	}
	if len(n.byName) != 3 || len(n.byAddr) != 3 {
		t.Errorf("%d names and %d addresses are known, want 3", len(n.byName), len(n.byAddr))
	}
	for _, other := range []string{"127.0.0.1", "127.2.0.1", "::1"} {
		if name, ok := n.name(netip.MustParseAddr(other)); ok {
			t.Errorf("%s has the name %q", other, name)
		}
	}
}

// helloOf is a real ClientHello.
func helloOf(t testing.TB, c *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		c.InsecureSkipVerify = true
		_ = tls.Client(client, c).HandshakeContext(context.Background())
	}()
	defer client.Close()
	h, err := readHello(server)
	if err != nil {
		t.Fatal(err)
	}
	return h.raw
}

// fixedHello is the smallest ClientHello with a server name: a fuzz corpus must not
// depend on random numbers.
func fixedHello(name string) []byte {
	body := append(make([]byte, 34), 0, 0, 2, 0x13, 1, 1, 0, 0, 0) // no session, one cipher suite, no extensions yet
	size := len(body)
	raw := append([]byte{22, 3, 1, 0, byte(4 + size), 1, 0, 0, byte(size)}, body...)
	content := append([]byte{0, byte(len(name) + 3), 0, 0, byte(len(name))}, name...)
	return inRecords(withExtension(raw, 0, content), 16<<10)
}

// inRecords divides the content of one record into records of n bytes.
func inRecords(raw []byte, n int) []byte {
	var out []byte
	for content := raw[5:]; len(content) > 0; {
		part := content[:min(n, len(content))]
		content = content[len(part):]
		out = append(out, raw[0], raw[1], raw[2])
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(part))), part...)
	}
	return out
}

func TestAClientHelloIsReadInAnyPieces(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string][]byte{
		"smallest":  fixedHello("example.com"),
		"usual":     helloOf(t, &tls.Config{ServerName: "example.com"}),
		"oversized": nil,
	} {
		if raw == nil {
			raw = withPadding(helloOf(t, &tls.Config{ServerName: "example.com"}), 40_000)
		}
		for _, size := range []int{1, 7, 100, 16 << 10} {
			if size == 1 && name == "oversized" {
				continue // more headers than content
			}
			parts := inRecords(raw, size)
			h, err := readHello(iotest.OneByteReader(bytes.NewReader(append(bytes.Clone(parts), "rest"...))))
			if err != nil || h.serverName != "example.com" || h.encrypted || !bytes.Equal(h.raw, parts) {
				t.Errorf("%s in records of %d bytes: %q, %v, %d of %d bytes", name, size, h.serverName, err, len(h.raw), len(parts))
			}
		}
	}
}

// withPadding adds a padding extension (RFC 7685) to a ClientHello in one record.
// The record may then be larger than TLS allows; inRecords divides it.
func withPadding(raw []byte, n int) []byte {
	return withExtension(raw, 21, make([]byte, n))
}

func withExtension(raw []byte, kind uint16, content []byte) []byte {
	out := bytes.Clone(raw)
	at := 5 + 4 + 2 + 32
	at += 1 + int(out[at])
	at += 2 + int(binary.BigEndian.Uint16(out[at:]))
	at += 1 + int(out[at])
	out = binary.BigEndian.AppendUint16(out, kind)
	out = append(binary.BigEndian.AppendUint16(out, uint16(len(content))), content...)
	binary.BigEndian.PutUint16(out[at:], uint16(len(out)-at-2))
	size := len(out) - 9
	out[6], out[7], out[8] = byte(size>>16), byte(size>>8), byte(size)
	return out
}

func TestAnEncryptedClientHelloIsSeen(t *testing.T) {
	t.Parallel()
	raw := inRecords(withExtension(helloOf(t, &tls.Config{ServerName: "example.com"}), 0xfe0d, []byte{0, 1, 2}), 16<<10)
	h, err := readHello(bytes.NewReader(raw))
	if err != nil || !h.encrypted {
		t.Fatalf("readHello = %+v, %v", h, err)
	}
	for _, strict := range []bool{false, true} {
		g := &Gate{cfg: Config{Strict: strict}}
		client, other := net.Pipe()
		first, err := g.firstBytes(target{host: netpolicy.Host{Name: "example.com"}, port: 443}, client, bytes.NewReader(raw))
		if refused := err != nil; refused != strict || !strict && !bytes.Equal(first, raw) {
			t.Errorf("strict %v: %v", strict, err)
		}
		client.Close()
		other.Close()
	}
}

func TestMalformedClientHellosAreRefused(t *testing.T) {
	t.Parallel()
	good := helloOf(t, &tls.Config{ServerName: "example.com"})
	twice := withExtension(good, 0, []byte{0, 4, 0, 0, 1, 'a'})
	long := bytes.Clone(good)
	long[6] = 0xff
	short := bytes.Clone(good)
	short[5+4+2+32] = 0xff // a session that does not fit
	for name, raw := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-1], "HTTP": []byte("GET"), "another handshake": {22, 3, 1, 0, 4, 2, 0, 0, 0},
		"an empty record": {22, 3, 1, 0, 0}, "a large record": {22, 3, 1, 0xff, 0xff}, "SSL 2": {22, 2, 0, 0, 4, 1, 0, 0, 0},
		"two names": inRecords(twice, 16<<10), "a large hello": long, "a wrong length": short, "too many records": inRecords(withPadding(good, 40_000), 1),
	} {
		if h, err := readHello(bytes.NewReader(raw)); err == nil {
			t.Errorf("%s: hello = %+v", name, h)
		}
	}
}

func TestAnIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		client, program := net.Pipe()
		server, remote := net.Pipe()
		done, began := make(chan struct{}), time.Now()
		go func() { defer close(done); _ = g.forward(client, client, server, nil) }()
		go func() { _, _ = io.Copy(io.Discard, remote) }()
		for range 3 { // one direction is used, so the other may be silent
			time.Sleep(idleLimit - time.Second)
			if _, err := program.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		<-done
		if took := time.Since(began); took < 4*idleLimit-4*time.Second || took > 4*idleLimit+time.Second {
			t.Errorf("the connection lived for %v", took)
		}
	})
}

func TestAQuestionWithoutAnswerIsARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := 0
		g := &Gate{ctx: t.Context(), cfg: Config{Now: time.Now, Ask: func(ctx context.Context, _ Block) bool {
			count++
			<-ctx.Done()
			return true
		}}}
		began := time.Now()
		here := target{host: netpolicy.Host{Name: "a.example"}, port: 443}
		if g.ask(t.Context(), here, "why") || time.Since(began) != askLimit {
			t.Errorf("allowed, or after %v", time.Since(began))
		}
		if g.ask(t.Context(), here, "why") || count != 1 {
			t.Errorf("asked %d times", count)
		}
	})
}

func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	reported := 0
	b := &blocks{now: time.Now, report: func(Block) { reported++ }}
	for i := range 2 * maxBlocks {
		b.add("a.example", uint16(i), "why")
		b.add("a.example", uint16(i), "why")
	}
	if len(b.list()) != maxBlocks || reported != 4*maxBlocks {
		t.Errorf("%d blocks, %d reported, want %d of all", len(b.list()), reported, maxBlocks)
	}
}

func TestUnknownInterfacesDialNothing(t *testing.T) {
	t.Parallel()
	g := &Gate{ctx: t.Context(), cfg: Config{Own: func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }}}
	if conn, err := g.dial(t.Context(), target{host: netpolicy.Host{Addr: netip.MustParseAddr("1.1.1.1")}, port: 443}, nil); err == nil {
		t.Errorf("dialled %v", conn.RemoteAddr())
	}
}

// FuzzAnswer holds the resolver to one small reply for any message.
func FuzzAnswer(f *testing.F) {
	f.Add(query(f, "a.example.", dnsmessage.TypeA, dnsmessage.ClassINET))
	f.Add(query(f, "localhost.", dnsmessage.TypeAAAA, dnsmessage.ClassINET))
	f.Add([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, message []byte) {
		known := newNames(4)
		reply := answer(message, known)
		if reply == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || !m.Response || len(reply) > 600 || !bytes.Equal(reply[:2], message[:2]) {
			t.Errorf("answer(%x) = %x, %v", message, reply, err)
		}
		for name := range known.byName {
			if h, err := netpolicy.ParseHost(name); err != nil || h.Name != name {
				t.Errorf("answer(%x) knows the name %q", message, name)
			}
		}
	})
}

// FuzzHello holds the reader to its limits: what it read is a prefix of the input.
func FuzzHello(f *testing.F) {
	good := fixedHello("example.com")
	f.Add(good)
	f.Add(inRecords(good, 50))
	f.Add(withExtension(good, 0xfe0d, []byte{1}))
	f.Add([]byte{22, 3, 1, 0, 4, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := readHello(bytes.NewReader(raw))
		if !bytes.HasPrefix(raw, h.raw) && err == nil || len(h.raw) > maxHelloRaw {
			t.Errorf("readHello(%x) read %x", raw, h.raw)
		}
		if err != nil {
			return
		}
		again, err := readHello(iotest.OneByteReader(bytes.NewReader(h.raw)))
		if err != nil || again.serverName != h.serverName || again.encrypted != h.encrypted {
			t.Errorf("readHello(%x) = %q, and read again %q, %v", raw, h.serverName, again.serverName, err)
		}
	})
}

package netpolicy_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

func TestEntriesAreReadInTheirCanonicalForm(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for text, want := range map[string]string{
		"example.com":                "example.com",
		" Example.COM. ":             "example.com",
		"*.example.com":              "*.example.com",
		"*.Example.com.:8443":        "*.example.com:8443",
		"example.com:22":             "example.com:22",
		"bücher.example":             "xn--bcher-kva.example",
		"BÜCHER.example":             "xn--bcher-kva.example",
		"faß.example":                "xn--fa-hia.example",
		"例え。テスト":                     "xn--r8jz45g.xn--zckzah",
		"ｅｘａｍｐｌｅ.com":                "example.com",
		"xn--bcher-kva.example":      "xn--bcher-kva.example",
		long + ".example":            long + ".example",
		"93.184.215.14":              "93.184.215.14",
		"93.184.215.14:8080":         "93.184.215.14:8080",
		"2606:4700::1":               "2606:4700::1",
		"[2606:4700::1]:443":         "[2606:4700::1]:443",
		"[2606:4700:0:0:0:0:0:0001]": "2606:4700::1",
		"@Packages":                  "@packages",
		"1password.com":              "1password.com",
		"4.example":                  "4.example",
		"intranet":                   "intranet",
	} {
		e, err := netpolicy.ParseEntry(text)
		if err != nil || e.String() != want {
			t.Errorf("ParseEntry(%q) = %v, %v; want %s", text, e, err, want)
		}
	}
}

// TestMistakesNameWhatToWrite has each mistake with a part of its error.
func TestMistakesNameWhatToWrite(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", "example.com"},
		{"  ", "example.com"},
		{"*", "write each host"},
		{"*.com", "*.NAME.com"},
		{"a.*.com", "*.example.com"},
		{"*a.com", "*.example.com"},
		{"**.a.com", "*.example.com"},
		{"*.*.a.com", "*.example.com"},
		{"*.93.184.215.14", "each address"},
		{"https://example.com/x", `write its host, "example.com"`},
		{"example.com/x", `write "example.com"`},
		{"10.0.0.0/8", "each address"},
		{"a.com b.com", "entry of its own"},
		{"a.com,b.com", "entry of its own"},
		{"a.com:0", "1 to 65535"},
		{"a.com:65536", "1 to 65535"},
		{"a.com:", "1 to 65535"},
		{"a.com:+80", "1 to 65535"},
		{"a.com:080", "1 to 65535"},
		{"a.com:https", "1 to 65535"},
		{"a..com", "empty part"},
		{".a.com", "empty part"},
		{"a.com..", "empty part"},
		{".", "empty part"},
		{"-a.com", "not a host name"},
		{"a_b.com", "not a host name"},
		{"a\x00.com", "not a host name"},
		{"xn--a.com", "not a host name"},
		{"::g", "not a host name"},
		{"[::1", "in brackets"},
		{"[1.2.3.4]:80", "in brackets"},
		{"fe80::1%eth0", "zone"},
		{"@pakcages", "did you mean @packages?"},
		{"@nothing-like-it", "the presets are @auto, @github"},
		{"@", "the presets are"},
		{strings.Repeat("a", 64) + ".com", "the limit is 63"},
		{strings.Repeat("a.", 127) + "com", "at most 253"},
		{strings.Repeat("a.", 4096) + "com", "at most 253"},
	}
	for _, tt := range tests {
		if e, err := netpolicy.ParseEntry(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseEntry(%q) = %v, %v; want an error with %q", tt.text, e, err, tt.want)
		}
	}
}

func TestNoErrorShowsAPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"me:hunter2@example.com", "https://me:hunter2@example.com/x", "https://me:hunter2@exa mple/", "@me:hunter2@example.com"} {
		if _, err := netpolicy.ParseEntry(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("ParseEntry(%q) = %v, want an error without the password", text, err)
		}
	}
}

// TestThisMachineIsRefusedInEverySpelling has the spellings of the loopback and
// the metadata address that resolvers and C libraries accept.
func TestThisMachineIsRefusedInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"localhost", "LOCALHOST.", "localhost.localdomain", "x.localhost", "ip6-localhost", "ｌocalhost", "localhost6.localdomain6",
		"127.1", "127.0.1", "0", "0.", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0x7F.0.0.0x1", "127.0.0.1.",
		"127.0.0.01", "１２７.0.0.1", "127。0。0。1", "169.254.43518", "0xa9fea9fe", "0251.0376.0251.0376", "2852039166",
		"0x", "127.0.0.0x",
	} {
		_, err := netpolicy.ParseEntry(text)
		if err == nil || !strings.Contains(err.Error(), "never dialled") {
			t.Errorf("ParseEntry(%q) = %v, want a refusal", text, err)
		}
	}
	for _, text := range []string{"127.0.0.1", "[::1]:80", "::ffff:127.0.0.1", "169.254.169.254", "10.1.2.3", "0.0.0.0", "64:ff9b::7f00:1"} {
		if _, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: []string{text}}); err == nil || !strings.Contains(err.Error(), "never dialled") {
			t.Errorf("allow %q = %v, want a refusal", text, err)
		}
	}
}

func TestOtherSpellingsOfPublicAddressesAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"0x5db8d70e", "write 93.184.215.14"},
		{"93.184.55054", "write 93.184.215.14"},
		{"0135.0270.0327.016", "write 93.184.215.14"},
		{"1.2.3.4.5", "its last part is a number"},
		{"256.1.1.1", "its last part is a number"},
		{"1.2.3.09", "its last part is a number"},
		{"99999999999999999999999", "its last part is a number"},
		{"a.b.12", "its last part is a number"},
	}
	for _, tt := range tests {
		if _, err := netpolicy.ParseEntry(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseEntry(%q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

func policy(t *testing.T, c netpolicy.Config) *netpolicy.Policy {
	t.Helper()
	p, err := netpolicy.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func host(t *testing.T, text string) netpolicy.Host {
	t.Helper()
	h, err := netpolicy.ParseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDenyWinsThenAllow(t *testing.T) {
	t.Parallel()
	p := policy(t, netpolicy.Config{
		Allow: []string{"a.example", "*.b.example", "c.example:22", "*.d.example:8443", "93.184.215.14", "bad.b.example"},
		Deny:  []string{"bad.b.example", "*.worse.b.example", "a.example:80"},
	})
	tests := []struct {
		host    string
		port    uint16
		allowed bool
		why     string
	}{
		{"a.example", 443, true, ""},
		{"A.EXAMPLE.", 443, true, ""},
		{"a.example", 80, false, "host a.example is on the deny list"},
		{"a.example", 22, false, "port 22 of host a.example is not on the allow list"},
		{"x.a.example", 443, false, "host x.a.example is not on the allow list"},
		{"aa.example", 443, false, "host aa.example is not on the allow list"},
		{"b.example", 443, false, "host b.example is not on the allow list"},
		{"x.b.example", 443, true, ""},
		{"x.y.z.b.example", 80, true, ""},
		{"xb.example", 80, false, "host xb.example is not on the allow list"},
		{"bad.b.example", 443, false, "host bad.b.example is on the deny list"},
		{"worse.b.example", 443, true, ""},
		{"x.worse.b.example", 443, false, "host x.worse.b.example is on the deny list"},
		{"c.example", 22, true, ""},
		{"c.example", 443, false, "port 443 of host c.example is not on the allow list"},
		{"x.d.example", 8443, true, ""},
		{"93.184.215.14", 443, true, ""},
		{"93.184.215.15", 443, false, "host 93.184.215.15 is not on the allow list"},
	}
	for _, tt := range tests {
		got := p.Decide(t.Context(), host(t, tt.host), tt.port)
		if got.Allowed != tt.allowed || got.Why != tt.why {
			t.Errorf("Decide(%s, %d) = %+v, want %v %q", tt.host, tt.port, got, tt.allowed, tt.why)
		}
		if got.Final != strings.Contains(tt.why, "deny") {
			t.Errorf("Decide(%s, %d).Final = %v", tt.host, tt.port, got.Final)
		}
	}
	if diff := cmp.Diff([]uint16{22, 80, 443, 8443}, p.Ports()); diff != "" {
		t.Errorf("Ports() differ (-want +got):\n%s", diff)
	}
}

func TestOpenAllowsAllButTheDenyList(t *testing.T) {
	t.Parallel()
	p := policy(t, netpolicy.Config{Open: true, Deny: []string{"*.evil.example"}})
	if d := p.Decide(t.Context(), host(t, "a.example"), 9999); !d.Allowed {
		t.Errorf("a.example: %+v", d)
	}
	if d := p.Decide(t.Context(), host(t, "x.evil.example"), 443); d.Allowed {
		t.Errorf("x.evil.example: %+v", d)
	}
}

func TestGrantsNeverBeatTheDenyList(t *testing.T) {
	t.Parallel()
	p := policy(t, netpolicy.Config{Deny: []string{"evil.example"}})
	var wait sync.WaitGroup
	for _, text := range []string{"a.example", "evil.example"} {
		wait.Go(func() {
			if err := p.Grant(text); err != nil {
				t.Error(err)
			}
			p.Decide(t.Context(), netpolicy.Host{Name: "a.example"}, 443)
		})
	}
	wait.Wait()
	if !p.Decide(t.Context(), host(t, "a.example"), 443).Allowed || p.Decide(t.Context(), host(t, "evil.example"), 443).Allowed {
		t.Error("want a.example granted, and evil.example denied")
	}
	for _, text := range []string{"@go", "localhost", "10.0.0.1"} {
		if p.Grant(text) == nil {
			t.Errorf("Grant(%q) is accepted", text)
		}
	}
}

func TestLocalPortsAreSingleExceptions(t *testing.T) {
	t.Parallel()
	p := policy(t, netpolicy.Config{Local: []string{"5432"}, Reserved: []uint16{6449}})
	loopback := netip.MustParseAddr("127.0.0.1")
	if d := p.Decide(t.Context(), netpolicy.Host{Addr: loopback}, 5432); !d.Allowed || len(d.Only) != 1 || d.Only[0] != loopback {
		t.Errorf("port 5432: %+v", d)
	}
	if d := p.Decide(t.Context(), netpolicy.Host{Addr: loopback}, 5433); d.Allowed {
		t.Errorf("port 5433: %+v", d)
	}
	for _, bad := range []string{"6449", "0", "x", ""} {
		if _, err := netpolicy.New(t.Context(), netpolicy.Config{Local: []string{bad}, Reserved: []uint16{6449}}); err == nil {
			t.Errorf("network.local %q is accepted", bad)
		}
	}
}

func TestPresetsAreExpandedOnce(t *testing.T) {
	t.Parallel()
	mirror := netip.MustParseAddr("10.1.2.3")
	expand := func(entries ...netpolicy.Entry) netpolicy.Config {
		return netpolicy.Config{
			Allow:    []string{"@go"},
			Reserved: []uint16{6449},
			Expand:   func(context.Context, string) ([]netpolicy.Entry, error) { return entries, nil },
		}
	}
	p := policy(t, expand(
		netpolicy.Entry{Host: netpolicy.Host{Name: "proxy.example"}, From: "@go"},
		netpolicy.Entry{Host: netpolicy.Host{Name: "mirror.example"}, Port: 8081, Only: []netip.Addr{mirror}},
	))
	if !p.Decide(t.Context(), host(t, "proxy.example"), 443).Allowed {
		t.Error("proxy.example is refused")
	}
	if d := p.Decide(t.Context(), host(t, "mirror.example"), 8081); !d.Allowed || len(d.Only) != 1 {
		t.Errorf("mirror.example:8081: %+v", d)
	}
	for name, bad := range map[string]netpolicy.Entry{
		"a preset in a preset":          {Preset: "@go"},
		"a private address":             {Host: netpolicy.Host{Addr: mirror}},
		"an exception for every port":   {Host: netpolicy.Host{Addr: mirror}, Only: []netip.Addr{mirror}},
		"an exception for ohgw's port":  {Host: netpolicy.Host{Addr: mirror}, Port: 6449, Only: []netip.Addr{mirror}},
		"an address of a documentation": {Host: netpolicy.Host{Addr: netip.MustParseAddr("192.0.2.1")}},
	} {
		if _, err := netpolicy.New(t.Context(), expand(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	failing := netpolicy.Config{Allow: []string{"@go"}, Expand: func(context.Context, string) ([]netpolicy.Entry, error) { return nil, errors.New("go is broken") }}
	if _, err := netpolicy.New(t.Context(), failing); err == nil || err.Error() != "@go: go is broken" {
		t.Errorf("a failing preset: %v", err)
	}
	if _, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: []string{"@go"}}); err == nil {
		t.Error("a preset without presets is accepted")
	}
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	if _, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: slicesOf("a.example", 5000)}); err == nil || !strings.Contains(err.Error(), "4096") {
		t.Errorf("5000 entries: %v", err)
	}
}

func slicesOf(text string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}

// FuzzEntry holds what is read to the two properties that the gate relies on: it
// is read the same when written again, and it is not an address that is dialled
// under a name.
func FuzzEntry(f *testing.F) {
	for _, seed := range []string{
		"example.com", "*.example.com:22", "@packages", "[2606:4700::1]:443", "93.184.215.14", "0x7f.1", "bücher.example", "xn--", "a..b",
		"https://a:b@c/d", "127。0。0。1", "*.*", "::ffff:1.2.3.4", "1.2.3.4:5", strings.Repeat("a.", 200), "\u200d.com", "xn--0.pt", "@@@@",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := netpolicy.ParseEntry(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("ParseEntry(%q): error %q is not one line of text", text, err)
			}
			return
		}
		again, err := netpolicy.ParseEntry(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("ParseEntry(%q) = %s, and read again %v, %v", text, e, again, err)
		}
		if e.Name != "" {
			if _, err := netip.ParseAddr(e.Name); err == nil || len(e.Name) > 253 || strings.ToLower(e.Name) != e.Name {
				t.Errorf("ParseEntry(%q) has the name %q", text, e.Name)
			}
		}
	})
}

package netpolicy_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// Match finds an entry for what Decide allows, and for nothing else.
func TestMatch(t *testing.T) {
	t.Parallel()
	p, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: []string{"example.com", "*.example.com", "*.example.com:8443", "a.example.com:8443"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Grant("b.example"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		host string
		port uint16
		want string
	}{
		{"example.com", 443, "example.com"},
		{"a.example.com", 80, "*.example.com"},
		{"a.example.com", 8443, "*.example.com:8443"},
		{"b.example", 443, "b.example"},
		{"example.com", 22, ""},
		{"c.example", 443, ""},
	} {
		h, err := netpolicy.ParseHost(test.host)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := p.Match(h, test.port)
		if ok != p.Decide(t.Context(), h, test.port).Allowed || ok && e.String() != test.want || !ok && test.want != "" {
			t.Errorf("%s:%d: %v, %v, want %q", test.host, test.port, e, ok, test.want)
		}
	}
}

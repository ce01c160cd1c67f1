package serverpool

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestANameHasTheMembersThatItsRecordsName(t *testing.T) {
	t.Parallel()
	dns := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", nameServer(t))
	}}
	for host, want := range map[string][]string{
		"agents.test.":            {"10.0.0.7:8000"},
		"_http._tcp.agents.test.": {"a0.agents.test:8000", "a1.agents.test:8001"},
	} {
		got, err := lookUp(dns)(t.Context(), host, "8000")
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("members of %s = %v, %v, want %v", host, got, err, want)
		}
	}
	if got, err := lookUp(dns)(t.Context(), "unknown.test.", "8000"); err == nil {
		t.Errorf("an unknown name has %v", got)
	}
}

// nameServer answers for agents.test.
func nameServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = conn.Close() })
	wg.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			answerName(&m)
			if data, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(data, from)
			}
		}
	})
	return conn.LocalAddr().String()
}

func answerName(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	add := func(body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}, Body: body})
	}
	switch name := q.Name.String(); {
	case !strings.HasSuffix(name, "agents.test."):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		add(&dnsmessage.AResource{A: [4]byte{10, 0, 0, 7}})
	case q.Type == dnsmessage.TypeSRV:
		add(&dnsmessage.SRVResource{Port: 8000, Target: dnsmessage.MustNewName("a0.agents.test.")})
		add(&dnsmessage.SRVResource{Port: 8001, Target: dnsmessage.MustNewName("a1.agents.test.")})
	}
}

package agents

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/setuptest"
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
			t.Errorf("%s: %v, %v", host, got, err)
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

func TestAPoolIsOneBackend(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 2 {
		s := fakeserver.New(t, fakeserver.Options{})
		s.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://127.0.0.1:1"})
		urls = append(urls, s.URL)
	}
	env := setuptest.New(t, nil)
	s := settingsOf(t, "", nil, map[string][]string{"agent-server": append(urls, "http://127.0.0.1:1")})
	b, err := Open(t.Context(), env, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !b.Pooled() || b.ID() != "pool" || b.InProcess() || len(b.Status.Members) != 3 || b.Native != nil {
		t.Errorf("the backend is %+v", b)
	}
	if want := "pool 1.43.1 at " + urls[0] + ", " + urls[1] + ", http://127.0.0.1:1 (named by --agent-server)"; b.Line() != want {
		t.Errorf("its line is %q, want %q", b.Line(), want)
	}
	var runs []int
	told := func(n int) error { runs = append(runs, n); return nil }
	b.FollowRuns(s, told)
	b.FollowRuns(settingsOf(t, "", nil, map[string][]string{"agent-server": urls, "max-runs": {"9"}}), told)
	if !slices.Equal(runs, []int{48}) {
		t.Errorf("told of %v runs, want those of all slots, and none where the settings name a number", runs)
	}
	list, err := b.Own(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "fast" {
		t.Errorf("its profiles are %v, %v", list, err)
	}
	one, err := Open(t.Context(), env, settingsOf(t, "", nil, map[string][]string{"agent-server": urls[:1]}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if one.Pooled() || one.Status.Name != "agent-server" {
		t.Errorf("one server is %+v", one.Status)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	s = settingsOf(t, "native = true\n", nil, map[string][]string{"agent-server": urls})
	if _, err := Open(t.Context(), env, s, slog.New(slog.DiscardHandler)); fault.CodeOf(err) != fault.Usage {
		t.Errorf("a pool with OpenHands' own API: %v", err)
	}
}

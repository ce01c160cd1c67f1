package manager_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// asked sends a request for a host through a proxy, and returns the status of the answer; 0
// for none.
func asked(t *testing.T, proxy, host string) int {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		return 0
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// withoutBoxes makes a manager at the level Off, whose names are all one public address at
// which nothing answers.
func withoutBoxes(t *testing.T, s manager.Settings) *manager.Manager {
	t.Helper()
	s.Mode = manager.Off
	m, err := manager.New(t.Context(), manager.Config{
		Settings: s, Getenv: os.Getenv, Now: time.Now,
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("refused by the test") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestAProxyDecidesAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings manager.Settings
		host     string
		want     int
		blocked  string
	}{
		"public":      {manager.Settings{}, "site.example", http.StatusBadGateway, ""},
		"denied":      {manager.Settings{Deny: []string{"site.example"}}, "site.example", http.StatusForbidden, "site.example"},
		"loopback":    {manager.Settings{}, "127.0.0.1:1", http.StatusForbidden, "127.0.0.1"},
		"private":     {manager.Settings{}, "10.0.0.1", http.StatusForbidden, "10.0.0.1"},
		"no network":  {manager.Settings{Network: manager.NoNetwork}, "site.example", http.StatusForbidden, "site.example"},
		"local, open": {manager.Settings{Local: []string{"1"}}, "127.0.0.1:1", http.StatusBadGateway, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocked := make(chan sandbox.Block, 1)
			m := withoutBoxes(t, tt.settings)
			address, end, err := m.Proxy(manager.Env{Conversation: "c", Workspace: t.TempDir(), Blocked: func(b sandbox.Block) { blocked <- b }}, os.Getuid())
			if err != nil {
				t.Fatal(err)
			}
			if status := asked(t, address, tt.host); status != tt.want {
				t.Errorf("status %d, not %d", status, tt.want)
			}
			if err := end(); err != nil { // waits for what is reported
				t.Error(err)
			}
			select {
			case b := <-blocked:
				if tt.blocked == "" || !strings.HasPrefix(b.Target, tt.blocked) {
					t.Errorf("blocked %+v", b)
				}
			default:
				if tt.blocked != "" {
					t.Error("the refusal was not reported")
				}
			}
		})
	}
}

func TestAProxyIsForOneUser(t *testing.T) {
	t.Parallel()
	m := withoutBoxes(t, manager.Settings{})
	address, end, err := m.Proxy(manager.Env{Conversation: "c", Workspace: t.TempDir()}, os.Getuid()+1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	if status := asked(t, address, "site.example"); status != 0 {
		t.Errorf("status %d for another user", status)
	}
}

func TestAProxyHasTheNetworkOfTheBox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager()
	if _, _, err := m.Proxy(w.env, os.Getuid()); err == nil {
		t.Error("there is a proxy without the box")
	}
	box := w.box(m)
	address, end, err := m.Proxy(w.env, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	if status := asked(t, address, "site.example"); status != http.StatusForbidden {
		t.Errorf("status %d in a box without a network", status)
	}
	if err := errors.Join(end(), box.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := m.Proxy(w.env, os.Getuid()); err == nil {
		t.Error("there is a proxy after the end of the box")
	}
}

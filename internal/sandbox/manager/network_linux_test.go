package manager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

// online gives a world a network in which every host is one web server.
func online(reaction manager.Reaction) func(*world) {
	return func(w *world) {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "hello from "+r.Host) }))
		w.t.Cleanup(server.Close)
		w.cfg.Settings.Network, w.cfg.Settings.OnBlock = manager.AllowList, reaction
		w.cfg.Settings.Allow = []string{"listed.example"}
		w.cfg.Settings.Deny = []string{"denied.example"}
		public := netip.MustParseAddr("93.184.215.14")
		w.cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil }
		w.cfg.Own = func() ([]netip.Addr, error) { return nil, nil }
		w.cfg.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			if to != netip.AddrPortFrom(public, 80) {
				return nil, errors.New("connection refused")
			}
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}
		w.cfg.Grants = grants.Open(grants.Config{State: w.state, Home: w.home})
	}
}

// request is a script that asks a host by the proxy, as curl would.
func request(host string) string {
	return `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://` + host + `/ HTTP/1.0\r\nHost: ` + host + `\r\n\r\n' >&3; cat <&3`
}

// asks asks a host, and checks what comes of it.
func (w *world) asks(box sandbox.Box, host string, reached bool) {
	w.t.Helper()
	w.answered(host, w.run(box, request(host)), reached)
}

func (w *world) answered(host, got string, reached bool) {
	w.t.Helper()
	if ok := strings.Contains(got, "hello from "+host); ok != reached || !ok && !strings.Contains(got, " 403 ") {
		w.t.Errorf("%s answers %q, want it reached: %v", host, got, reached)
	}
}

// told checks the next thing that was refused.
func (w *world) told(want sandbox.Block) {
	w.t.Helper()
	select {
	case got := <-w.blocked:
		if got.Time.IsZero() {
			w.t.Errorf("%+v has no time", got)
		}
		got.Time = want.Time
		if got != want {
			w.t.Errorf("blocked %+v, want %+v", got, want)
		}
	case <-time.After(time.Minute):
		w.t.Fatal("nothing was told")
	}
}

// quiet checks that nothing more was refused.
func (w *world) quiet() {
	w.t.Helper()
	select {
	case got := <-w.blocked:
		w.t.Errorf("blocked %+v", got)
	default:
	}
}

func unlisted(host string) sandbox.Block {
	return sandbox.Block{Access: sandbox.Network, Target: host + ":80", Why: "host " + host + " is not on the allow list", Allow: "net " + host}
}

func (w *world) answer(m *manager.Manager, target string, scope manager.Scope) {
	w.t.Helper()
	if err := m.Answer(w.t.Context(), w.env, manager.Answer{Access: sandbox.Network, Target: target, Scope: scope}); err != nil {
		w.t.Error(err)
	}
}

// What is refused is told; a grant and its end hold at once, in the same box.
func TestGrantsOfTheNetworkHoldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, online(manager.Report))
	m := w.manager()
	box := w.box(m)
	const host = "new.example"
	w.asks(box, "listed.example", true)
	w.quiet()
	w.asks(box, host, false)
	w.told(unlisted(host))
	if _, _, err := w.cfg.Grants.Add(t.Context(), grants.Grant{Access: sandbox.Network, Target: host, Workspace: w.env.Workspace}); err != nil {
		t.Fatal(err)
	}
	w.asks(box, host, true)
	if box.(interface{ Stale() bool }).Stale() {
		t.Error("a host needs no new box")
	}
	if _, err := w.cfg.Grants.Remove(t.Context(), func(grants.Grant) bool { return true }); err != nil {
		t.Fatal(err)
	}
	w.asks(box, host, false)
	w.told(unlisted(host))
	w.answer(m, host, manager.Once)
	w.asks(box, host, true)
	w.asks(box, host, false) // it was once
	w.told(unlisted(host))
	w.asks(box, "denied.example", false)
	w.told(sandbox.Block{Access: sandbox.Network, Target: "denied.example:80", Why: "host denied.example is on the deny list"})
	w.quiet()
}

func TestSilentIsQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, online(manager.Silent))
	box := w.box(w.manager())
	w.asks(box, "new.example", false)
	want := unlisted("new.example")
	want.Quiet = true
	w.told(want)
}

func TestAConnectionWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, online(manager.Ask))
	m := w.manager()
	box := w.box(m)
	for _, c := range []struct {
		host    string
		answer  func(host string)
		reached bool
		again   bool // a second connection needs no answer
	}{
		{"once.example", func(host string) { w.answer(m, host, manager.Once) }, true, false},
		{"conversation.example", func(host string) { w.answer(m, host, manager.Conversation) }, true, true},
		{"granted.example", func(host string) { // by another process
			other := grants.Open(grants.Config{State: w.state, Home: w.home})
			if _, _, err := other.Add(t.Context(), grants.Grant{Access: sandbox.Network, Target: host}); err != nil {
				t.Error(err)
			}
		}, true, true},
		{"no.example", func(host string) { w.answer(m, host, manager.No) }, false, false},
	} {
		p, out, err := w.start(box, request(c.host))
		if err != nil {
			t.Fatal(err)
		}
		held := unlisted(c.host)
		held.Held = true
		w.told(held)
		c.answer(c.host)
		text, _ := io.ReadAll(out)
		out.Close()
		_, _ = p.Wait()
		w.answered(c.host, string(text), c.reached)
		if !c.reached {
			w.told(unlisted(c.host))
			w.asks(box, c.host, false) // It is not asked about again …
			w.told(unlisted(c.host))
			w.answer(m, c.host, manager.Workspace) // … and can still be allowed.
			w.asks(box, c.host, true)
		}
		if c.again {
			w.asks(box, c.host, true)
		}
		w.quiet()
	}
}

// The end of a box lets go of what waits in it.
func TestCloseEndsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, online(manager.Ask))
	box := w.box(w.manager())
	p, out, err := w.start(box, request("new.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	held := unlisted("new.example")
	held.Held = true
	w.told(held)
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	_, _ = p.Wait()
}

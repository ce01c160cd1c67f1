//go:build e2e && linux

package browsers

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	tools "github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/internal/pause"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// stranger is a site that wants to reach this machine, and what it must not reach: a
// server and a UDP socket of the test, which nothing has allowed.
type stranger struct {
	t       *testing.T
	browser tools.Browser
	canary  string // the port of what must not be reached
	local   string // a port that is allowed
	saved   atomic.Int64

	reached atomic.Int32
	lookups atomic.Int32
	mu      sync.Mutex
	blocked []string
}

// told are the refusals since it was asked last.
func (s *stranger) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.blocked, "; ")
	s.blocked = nil
	return text
}

// host is a Host of which the browser needs one method.
type host struct {
	conversation.Host

	s *stranger
}

// Blocked collects what was refused.
func (h host) Blocked(b sandbox.Block) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.blocked = append(h.s.blocked, b.Target+" ("+b.Why+")")
}

var publicAddress = netip.MustParseAddr("93.184.215.14")

// resolve knows site.example, and rebind.example, which is this machine from its
// second answer on.
func (s *stranger) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	switch strings.TrimSuffix(name, ".") {
	case "site.example":
		return []netip.Addr{publicAddress}, nil
	case "rebind.example":
		if s.lookups.Add(1) == 1 {
			return []netip.Addr{publicAddress}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "mapped.example":
		return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	case "inside.example":
		return []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("::1"), netip.MustParseAddr("169.254.169.254")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// eventually is the text of the page once it has the word.
func (s *stranger) eventually(ctx context.Context, word string) (text string, err error) {
	for range 40 {
		if text, err = s.browser.Content(ctx, false, 0); err != nil || strings.Contains(text, word) {
			return text, err
		}
		if err := pause.For(ctx, 200*time.Millisecond); err != nil {
			return text, err
		}
	}
	return text, nil
}

// visit is a page that is opened, and what has to come of it.
type visit struct {
	name, address string
	click         string // the text of what is clicked then
	word          string // that the page has in the end
	want          string // in what is told of the action, of the page, or of refusals
}

const (
	site  = "http://site.example"
	never = "never dialled"
)

// TestStrangersReachNothing opens what wants to reach this machine. Each ends with an
// observation that says what was.
func TestStrangersReachNothing(t *testing.T) {
	newStranger(t).visitAll(t, []visit{
		{name: "public", address: site, word: "welcome", want: "Navigated to"},
		{name: "allowed port", address: "http://127.0.0.1:L/", word: "welcome", want: "Navigated to"},
		{name: "loopback", address: "http://127.0.0.1:P/", want: never},
		{name: "localhost", address: "http://localhost:P/", want: "localhost"},
		{name: "localhost with the allowed port", address: "http://localhost:L/", want: "localhost"},
		{name: "below localhost", address: "http://a.localhost:P/", want: "localhost"},
		{name: "IPv6", address: "http://[::1]:P/", want: never},
		{name: "mapped", address: "http://[::ffff:127.0.0.1]:P/", want: never},
		{name: "mapped in hex", address: "http://[::ffff:7f00:1]:P/", want: never},
		{name: "NAT64", address: "http://[64:ff9b::7f00:1]:P/", want: never},
		{name: "zero", address: "http://0.0.0.0:P/", want: never},
		{name: "short", address: "http://127.1:P/", want: never},
		{name: "decimal", address: "http://2130706433:P/", want: never},
		{name: "hex", address: "http://0x7f.1:P/", want: never},
		{name: "fullwidth", address: "http://１２７.0.0.1:P/", want: never},
		{name: "dot", address: "http://127.0.0.1.:P/", want: never},
		{name: "private", address: "http://10.0.0.1/", want: never},
		{name: "metadata", address: "http://169.254.169.254/latest/", want: never},
		{name: "https", address: "https://127.0.0.1:P/", want: never},
		{name: "mapped by name", address: "http://mapped.example/", want: never},
		{name: "private by name", address: "http://inside.example/", want: never},
		{name: "no such name", address: "http://nobody.example/", want: "does not exist"},
		{name: "rebinding", address: "http://rebind.example/rebind", word: "ended", want: never},
		{name: "redirect", address: site + "/redirect", want: never},
		{name: "redirect to a name", address: site + "/redirectname", want: never},
		{name: "redirect to a file", address: site + "/redirectfile", want: "navigation failed: net::ERR_"},
		{name: "redirects in a circle", address: site + "/circle", want: "in a circle"},
		{name: "location", address: site + "/location", want: never},
		{name: "fetches", address: site + "/fetches", word: "ended", want: never},
		{name: "parts of a page", address: site + "/images", word: "pictures", want: never},
		{name: "WebSocket", address: site + "/socket", word: "ended closed", want: never},
		{name: "WebRTC", address: site + "/webrtc", word: "ended", want: "Navigated to"},
		{name: "service worker", address: "http://127.0.0.1:L/worker", word: "ended ", want: never},
		{name: "popup", address: site + "/popup", click: "Open", want: never},
		{name: "popups", address: site + "/popups", click: "Open", want: "Clicked"},
		{name: "link to a file", address: site + "/schemes", click: "file", word: "schemes", want: "Clicked"},
		{name: "link to chrome", address: site + "/schemes", click: "chrome", word: "schemes", want: "Clicked"},
		{name: "link to a source", address: site + "/schemes", click: "source", word: "schemes", want: "Clicked"},
		{name: "link to mail", address: site + "/schemes", click: "mail", word: "schemes", want: "Clicked"},
		{name: "file", address: "file:///etc/passwd", want: "http:// or https://"},
		{name: "chrome", address: "chrome://version", want: "http:// or https://"},
		{name: "source", address: "view-source:http://site.example/", want: "http:// or https://"},
		{name: "devtools", address: "devtools://devtools/bundled/inspector.html", want: "http:// or https://"},
		{name: "dialogs", address: site + "/dialogs", word: "ended true null", want: "answered with OK: one"},
		{name: "beforeunload", address: site + "/unload", click: "Touch", word: "unload", want: "Clicked"},
		{name: "after beforeunload", address: site, word: "welcome", want: "Navigated to"},
		{name: "password", address: site + "/password", want: "asks for a name and a password"},
		{name: "questions", address: site + "/handler", word: "handler", want: "Navigated to"},
		{name: "large frame", address: site + "/fullframe", word: "frame", want: "Navigated to"},
		{name: "many downloads", address: site + "/multi", word: "downloads", want: "Navigated to"},
		{name: "download", address: site + "/small", want: "Downloaded downloads/"},
		{name: "large download", address: site + "/big", want: "it has more than 100 MB"},
		{name: "after all", address: site, word: "welcome", want: "Navigated to"},
	})
}

// TestPagesThatHurtEndInTime opens what wants to hold the browser up.
func TestPagesThatHurtEndInTime(t *testing.T) {
	newStranger(t).visitAll(t, []visit{
		{name: "endless alerts", address: site + "/alerts", want: "given up"},
		{name: "busy", address: site + "/busy", want: "busy"},
		{name: "endless download", address: site + "/endless", want: "it has more than 100 MB"},
		{name: "slow download", address: site + "/slow", want: "goes on"},
		{name: "large page", address: site + "/page100", want: "not loaded"},
		{name: "endless page", address: site + "/pageendless", want: "not loaded"},
		{name: "after all", address: site, word: "welcome", want: "Navigated to"},
	})
}

// visitAll opens one page after the other.
func (s *stranger) visitAll(t *testing.T, tests []visit) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second)
			defer cancel()
			s.told()
			began := time.Now()
			all := s.play(ctx, strings.NewReplacer(":P", ":"+s.canary, ":L", ":"+s.local).Replace(tt.address), tt.click, tt.word)
			all += "\n" + s.told()
			t.Logf("%.1f s: %s", time.Since(began).Seconds(), shortened(all))
			if !strings.Contains(all, tt.want) || !strings.Contains(all, tt.word) {
				t.Errorf("words %q and %q are missing", tt.want, tt.word)
			}
			if strings.Contains(all, "SECRET") || strings.Contains(all, "root:x:0") || s.reached.Load() > 0 {
				t.Error("a canary was reached")
			}
			if ctx.Err() != nil {
				t.Error("action was not over in time")
			}
		})
	}
}

// play opens an address, clicks something, and reads the page until it has a word. It
// is all that the model would read.
func (s *stranger) play(ctx context.Context, address, click, word string) string {
	all, err := s.browser.Navigate(ctx, address, false)
	if err != nil {
		return all + err.Error()
	}
	if click != "" {
		state, _, err := s.browser.State(ctx, false)
		if err != nil {
			return all + err.Error()
		}
		text, err := s.browser.Click(ctx, indexOf(state, click), false)
		if err != nil {
			return all + err.Error()
		}
		all += "\n" + text
	}
	text, err := s.eventually(ctx, word)
	if err != nil {
		return all + "\n" + text + err.Error()
	}
	tabs, err := s.browser.Tabs(ctx)
	if err != nil {
		text += err.Error()
	}
	if n := strings.Count(tabs, `"tab_id"`); n > 20 {
		s.t.Errorf("tabs open: %d", n)
	}
	return all + "\n" + text
}

// indexOf is that of an element with a text in a state.
func indexOf(state, text string) int {
	before, _, _ := strings.Cut(state, `"text": "`+text)
	return strings.Count(before, `"index":`) - 1
}

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 600)]
}

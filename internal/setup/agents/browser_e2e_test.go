//go:build e2e && linux

package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	tools "github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
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

// newStranger opens a browser by the network that users have, with the sandbox off:
// what is refused then is refused always.
func newStranger(t *testing.T) *stranger {
	t.Helper()
	path, err := browser.Find("", os.Environ(), "")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := &stranger{t: t}
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reached.Add(1)
		t.Errorf("reached: %s %s", r.Method, r.URL)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = io.WriteString(w, "SECRET")
	}))
	t.Cleanup(canary.Close)
	_, s.canary, _ = net.SplitHostPort(canary.Listener.Addr().String())
	udp, err := net.ListenPacket("udp4", "127.0.0.1:"+s.canary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	go func() {
		if n, from, err := udp.ReadFrom(make([]byte, 100)); err == nil {
			s.reached.Add(1)
			t.Errorf("reached by UDP: %d bytes from %s", n, from)
		}
	}()
	site := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(site.Close)
	_, s.local, _ = net.SplitHostPort(site.Listener.Addr().String())
	m, err := manager.New(t.Context(), manager.Config{
		Settings: manager.Settings{Mode: manager.Off, Network: manager.AllNetwork, Local: []string{s.local}},
		Getenv:   os.Getenv, Now: time.Now, Resolve: s.resolve,
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			switch to.String() {
			case publicAddress.String() + ":80", "127.0.0.1:" + s.local:
				return new(net.Dialer).DialContext(ctx, "tcp", site.Listener.Addr().String())
			}
			if !to.Addr().IsGlobalUnicast() || to.Addr().IsPrivate() || to.Addr().IsLoopback() {
				s.reached.Add(1)
				t.Errorf("dialled: %s", to)
			}
			return nil, errors.New("connection refused by the test")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	pool := browser.NewPool(browser.Config{Find: func() (string, error) { return path, nil }, Dir: t.TempDir()})
	t.Cleanup(func() { _ = pool.Close() })
	s.browser, err = browserOf(pool, m)(t.Context(), engine.ToolEnv{Conversation: "c", Workspace: t.TempDir(), Host: host{s: s}},
		func(name string, file io.Reader) (string, error) {
			n, err := io.Copy(io.Discard, file)
			s.saved.Add(n)
			return "downloads/" + name, err
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.browser.Close() })
	return s
}

// pages are what the site serves as HTML. P is the port of the canary.
var pages = map[string]string{
	"/": `<title>Site</title><p>welcome`,
	"/fetches": `<p id=o>waiting<script>(async()=>{let out=[];for(const u of ["http://127.0.0.1:P/","http://localhost:P/","http://[::1]:P/",
"http://[::ffff:127.0.0.1]:P/","http://10.0.0.1/","https://127.0.0.1:P/","file:///etc/passwd","chrome://version"])
{try{const r=await fetch(u,{mode:"no-cors"});out.push(r.type)}catch(e){out.push("failed")}}o.textContent="ended "+out.join(",")})()</script>`,
	"/images":    `<p>pictures<img src="http://127.0.0.1:P/a.png"><script src="http://localhost:P/a.js"></script><link rel=stylesheet href="http://[::1]:P/a.css"><iframe src="http://127.0.0.1:P/frame"></iframe><iframe src="file:///etc/passwd"></iframe>`,
	"/rebind":    `<p id=o>waiting<script>(async()=>{let out="";for(let i=0;i<3;i++){const r=await fetch("/again?"+i);out=r.status+" "+await r.text()}o.textContent="ended "+out})()</script>`,
	"/socket":    `<p id=o>waiting<script>const w=new WebSocket("ws://127.0.0.1:P/");w.onopen=()=>o.textContent="OPEN";w.onclose=()=>o.textContent="ended closed"</script>`,
	"/webrtc":    `<p id=o>waiting<script>const c=new RTCPeerConnection({iceServers:[{urls:["stun:127.0.0.1:P","turn:127.0.0.1:P?transport=tcp"],username:"u",credential:"p"}]});c.createDataChannel("x");let n=0;c.onicecandidate=e=>{if(e.candidate)n++;else o.textContent="ended "+n};c.createOffer().then(d=>c.setLocalDescription(d));setTimeout(()=>o.textContent+=" ended",3000)</script>`,
	"/worker":    `<p id=o>waiting<script>navigator.serviceWorker.register("/sw.js").then(()=>navigator.serviceWorker.ready).then(()=>{navigator.serviceWorker.onmessage=e=>o.textContent="ended "+e.data;navigator.serviceWorker.ready.then(r=>r.active.postMessage("go"))}).catch(e=>o.textContent="ended "+e)</script>`,
	"/popups":    `<p>popups<button onclick='for(let i=0;i<40;i++)window.open("/?"+i,"w"+i)'>Open</button>`,
	"/popup":     `<p>popup<button onclick='window.open("http://127.0.0.1:P/popup")'>Open</button>`,
	"/schemes":   `<p>schemes<a href="file:///etc/passwd">file</a> <a href="chrome://version">chrome</a> <a href="view-source:http://site.example/">source</a> <a href="mailto:a@b.example">mail</a>`,
	"/location":  `<p>before<script>location="http://127.0.0.1:P/location"</script>`,
	"/dialogs":   `<p id=o>waiting<script>alert("one");const c=confirm("two");const p=prompt("three","x");print();o.textContent="ended "+c+" "+p</script>`,
	"/alerts":    `<p>alerts<script>for(;;)alert("again")</script>`,
	"/unload":    `<p>unload<button onclick="1">Touch</button><script>onbeforeunload=e=>{e.preventDefault();return "stay"}</script>`,
	"/busy":      `<p>busy<script>setTimeout(()=>{for(;;);},50)</script>`,
	"/multi":     `<p>downloads<script>for(let i=0;i<30;i++){const a=document.createElement("a");a.href="/small?"+i;a.download="f"+i;a.click()}</script>`,
	"/handler":   `<p>handler<script>try{navigator.registerProtocolHandler("web+x","http://site.example/?%s")}catch(e){}Notification.requestPermission();navigator.geolocation.getCurrentPosition(()=>0)</script>`,
	"/fullframe": `<p>frame<iframe src="/" style="width:1e9px;height:1e9px"></iframe>`,
}

const serviceWorker = `onmessage=async e=>{let out=[];for(const u of ["http://127.0.0.1:P/","http://localhost:P/","http://10.0.0.1/"]){try{const r=await fetch(u,{mode:"no-cors"});out.push(r.type)}catch(x){out.push("failed")}}e.source.postMessage(out.join(","))}`

// serve is the site.
func (s *stranger) serve(w http.ResponseWriter, r *http.Request) {
	if page, ok := pages[r.URL.Path]; ok {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.ReplaceAll(page, ":P", ":"+s.canary))
		return
	}
	const mb = 1 << 20
	block := bytes.Repeat([]byte("<p>0123456789 abcdef</p>\n\n"), mb/26)
	endless := func(limit int) {
		for i := 0; i < limit && r.Context().Err() == nil; i++ {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	attach := func() { w.Header().Set("Content-Disposition", `attachment; filename="big.bin"`) }
	switch r.URL.Path {
	case "/sw.js":
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, strings.ReplaceAll(serviceWorker, ":P", ":"+s.canary))
	case "/again":
		_, _ = io.WriteString(w, "the public server")
	case "/redirect":
		http.Redirect(w, r, "http://127.0.0.1:"+s.canary+"/redirected", http.StatusFound)
	case "/redirectname":
		http.Redirect(w, r, "http://inside.example/", http.StatusFound)
	case "/redirectfile":
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	case "/circle":
		http.Redirect(w, r, "/circle", http.StatusFound)
	case "/password":
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	case "/small":
		attach()
		_, _ = io.WriteString(w, "small")
	case "/big":
		attach()
		w.Header().Set("Content-Length", fmt.Sprint(120*mb))
		endless(200)
	case "/endless":
		attach()
		endless(1 << 20)
	case "/slow":
		attach()
		_, _ = w.Write(block)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(2 * time.Minute):
		}
	case "/page100":
		w.Header().Set("Content-Type", "text/html")
		endless(100)
	case "/pageendless":
		w.Header().Set("Content-Type", "text/html")
		endless(1 << 20)
	default:
		http.NotFound(w, r)
	}
}

// eventually is the text of the page once it has the word.
func (s *stranger) eventually(ctx context.Context, word string) (text string, err error) {
	for range 40 {
		if text, err = s.browser.Content(ctx, false, 0); err != nil || strings.Contains(text, word) {
			return text, err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return text, nil
}

// TestStrangersReachNothing opens what wants to reach this machine, or to hold the
// browser up. Each ends in time, with an observation that says what was.
func TestStrangersReachNothing(t *testing.T) {
	s := newStranger(t)
	const site = "http://site.example"
	never := "never dialled"
	tests := []struct {
		name, address string
		click         string // the text of what is clicked then
		word          string // that the page has in the end
		want          string // in what is told of the action, of the page, or of refusals
	}{
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
		{name: "endless alerts", address: site + "/alerts", want: "given up"},
		{name: "beforeunload", address: site + "/unload", click: "Touch", word: "unload", want: "Clicked"},
		{name: "after beforeunload", address: site, word: "welcome", want: "Navigated to"},
		{name: "busy", address: site + "/busy", want: "busy"},
		{name: "password", address: site + "/password", want: "asks for a name and a password"},
		{name: "questions", address: site + "/handler", word: "handler", want: "Navigated to"},
		{name: "large frame", address: site + "/fullframe", word: "frame", want: "Navigated to"},
		{name: "many downloads", address: site + "/multi", word: "downloads", want: "Navigated to"},
		{name: "download", address: site + "/small", want: "Downloaded downloads/"},
		{name: "large download", address: site + "/big", want: "it has more than 100 MB"},
		{name: "endless download", address: site + "/endless", want: "it has more than 100 MB"},
		{name: "slow download", address: site + "/slow", want: "goes on"},
		{name: "large page", address: site + "/page100", want: "not loaded"},
		{name: "endless page", address: site + "/pageendless", want: "not loaded"},
		{name: "after all", address: site, word: "welcome", want: "Navigated to"},
	}
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
				t.Errorf("not %q and %q", tt.want, tt.word)
			}
			if strings.Contains(all, "SECRET") || strings.Contains(all, "root:x:0") || s.reached.Load() > 0 {
				t.Error("something was reached")
			}
			if ctx.Err() != nil {
				t.Error("it was not over in time")
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
		s.t.Errorf("%d tabs are open", n)
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

//go:build e2e && linux

package browsers

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
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
)

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
	s.browser, err = Of(pool, m)(t.Context(), engine.ToolEnv{Conversation: "c", Workspace: t.TempDir(), Host: host{s: s}},
		toolset.BrowserFiles{Save: func(name string, file io.Reader) (string, error) {
			n, err := io.Copy(io.Discard, file)
			s.saved.Add(n)
			return "downloads/" + name, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.browser.Close() })
	return s
}

// pages are what the site serves as HTML. P is the port of the canary.
func pages() map[string]string {
	return map[string]string{
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
}

const serviceWorker = `onmessage=async e=>{let out=[];for(const u of ["http://127.0.0.1:P/","http://localhost:P/","http://10.0.0.1/"]){try{const r=await fetch(u,{mode:"no-cors"});out.push(r.type)}catch(x){out.push("failed")}}e.source.postMessage(out.join(","))}`

// serve is the site.
func (s *stranger) serve(w http.ResponseWriter, r *http.Request) {
	if page, ok := pages()[r.URL.Path]; ok {
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

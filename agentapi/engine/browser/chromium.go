package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// startLimit is how long Chromium may take to answer first.
const startLimit = 60 * time.Second

// chromium is a running Chromium, which all conversations share.
type chromium struct {
	root    context.Context // of chromedp; ends with it
	cancel  context.CancelFunc
	browser *chromedp.Browser
	process sandbox.Process
	box     sandbox.Box
	dir     string
	unlock  func() error
	gone    chan struct{} // closed when the process has ended and its directory is removed

	mu       sync.Mutex
	sessions map[cdp.BrowserContextID]*Session
}

// flags are how Chromium is started. All that it reaches of the network is a proxy,
// one for each conversation: the one here is nobody's, names are not resolved, and
// what cannot use a proxy is off.
func flags(dir string, root bool) []string {
	list := []string{
		"--headless", "--remote-debugging-pipe", "--no-startup-window", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-domain-reliability", "--no-pings",
		"--disable-breakpad", "--disable-crash-reporter", "--disable-client-side-phishing-detection",
		"--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars", "--window-size=1280,800",
		"--password-store=basic", "--use-mock-keychain", "--disable-notifications", "--disable-print-preview",
		"--disable-features=MediaRouter,DialMediaRouteProvider,Translate,OptimizationHints,AutofillServerCommunication," +
			"CertificateTransparencyComponentUpdater,WebUSB,WebBluetooth,AsyncDns,DnsOverHttps,BackForwardCache," +
			// Each of these is one more process for each conversation.
			"SpareRendererForSitePerProcess,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIOmniboxFullPopup,AiModeOmniboxEntryPoint",
	}
	if root {
		list = append(list, "--no-sandbox")
	}
	return list
}

// environ are the variables of Chromium: nothing of the user's.
func environ(dir string) []string {
	home, tmp := filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	if runtime.GOOS == "linux" {
		tmp = "/proc/self/cwd/tmp" // the same, and short: the paths of sockets are limited
	}
	return []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_RUNTIME_DIR=" + home, "TMPDIR=" + tmp, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8", "DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:",
	}
}

// start starts Chromium in a directory of its own.
func start(ctx context.Context, path, parent string, mark sandbox.Mark, log *slog.Logger) (*chromium, error) {
	dir, unlock, err := makeDir(parent)
	if err != nil {
		return nil, fmt.Errorf("make a directory for Chromium: %w", err)
	}
	c := &chromium{
		dir: dir, unlock: unlock, box: sandbox.Outside(sandbox.Off, mark), gone: make(chan struct{}),
		sessions: map[cdp.BrowserContextID]*Session{},
	}
	stderr := &tail{}
	if err := c.run(path, stderr); err != nil {
		if c.process == nil {
			c.clean()
		}
		c.Close()
		return nil, fault.New("Chromium cannot be started", "start it by hand to see why: "+path+" --headless --dump-dom about:blank", err)
	}
	if err := c.connect(ctx, log); err != nil {
		c.Close()
		if said := stderr.String(); said != "" {
			err = fmt.Errorf("%w; it said: %s", err, said)
		}
		return nil, fault.New("Chromium does not answer", hintFor(stderr.String()), err)
	}
	return c, nil
}

// hintFor is what to do about a Chromium that did not start.
func hintFor(said string) string {
	if strings.Contains(said, "usable sandbox") || strings.Contains(said, "sandbox") && strings.Contains(said, "namespace") {
		return "Chromium's own sandbox needs user namespaces or its helper: install the package chromium-sandbox"
	}
	return "start it by hand to see why: chromium --headless --dump-dom about:blank"
}

// run starts the process, with pipes for chromedp.
func (c *chromium) run(path string, stderr io.Writer) error {
	theirs, in, out, err := pipes()
	if err != nil {
		return err
	}
	readErr, writeErr, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), out.Close(), theirs[0].Close(), theirs[1].Close())
	}
	root := os.Geteuid() == 0
	c.process, err = c.box.Start(context.Background(), sandbox.Program{
		Args: append([]string{path}, flags(c.dir, root)...), Env: environ(c.dir), Dir: c.dir,
		Files: []*os.File{nil, nil, writeErr, theirs[0], theirs[1]},
	})
	_ = errors.Join(theirs[0].Close(), theirs[1].Close(), writeErr.Close())
	if err != nil {
		return errors.Join(err, in.Close(), out.Close(), readErr.Close())
	}
	go func() {
		_, _ = io.Copy(stderr, readErr)
		_ = readErr.Close()
	}()
	address, conn := wires.wire()
	go join(conn, in, out)
	go func() {
		_, _ = c.process.Wait()
		_ = conn.Close()
		c.clean()
	}()
	return c.dial(address)
}

// dial connects chromedp, whose first message waits for Chromium.
func (c *chromium) dial(address string) error {
	at, cancel := chromedp.NewRemoteAllocator(context.Background(), address, chromedp.NoModifyURL)
	root, cancelRoot := chromedp.NewContext(at)
	c.root, c.cancel = root, func() { cancelRoot(); cancel() }
	quiet := func(string, ...any) {}
	b, err := chromedp.NewBrowser(root, address, chromedp.WithBrowserLogf(quiet), chromedp.WithBrowserErrorf(quiet))
	if err != nil {
		return err
	}
	c.browser = b
	chromedp.FromContext(root).Browser = b
	return nil
}

// connect waits for Chromium, and listens to what happens in it.
func (c *chromium) connect(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	chromedp.ListenBrowser(c.root, c.event)
	if err := c.do(ctx, target.SetDiscoverTargets(true)); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		log.Warn("the browser runs without its own sandbox, because ohgw runs as root", "fix", "run ohgw as another user")
	}
	return nil
}

// doer is a command of the protocol.
type doer interface {
	Do(ctx context.Context) error
}

// do sends a command to Chromium as a whole.
func (c *chromium) do(ctx context.Context, action doer) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return c.lost(action.Do(cdp.WithExecutor(ctx, c.browser)))
}

// bound is a context for commands, which ends with Chromium, too.
func (c *chromium) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-c.browser.LostConnection:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// alive reports whether it still runs.
func (c *chromium) alive() bool {
	select {
	case <-c.browser.LostConnection:
		return false
	case <-c.gone:
		return false
	default:
		return true
	}
}

// lost says instead of an error that Chromium has ended.
func (c *chromium) lost(err error) error {
	if err != nil && c.browser != nil && !c.alive() {
		return errLost
	}
	return err
}

// Close ends Chromium and waits for it.
func (c *chromium) Close() {
	if c.process != nil {
		_ = c.process.Kill()
		<-c.gone
	}
	if c.cancel != nil {
		c.cancel()
	}
	_ = c.box.Close()
}

// clean removes what Chromium had on disk. Its processes may still write there for a
// moment.
func (c *chromium) clean() {
	_ = c.box.Close()
	for range 20 {
		if os.RemoveAll(c.dir) == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = c.unlock()
	_ = os.Remove(c.dir + ".lock")
	close(c.gone)
}

// tail keeps the last of what Chromium said.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 2000

// Write takes more of it.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*maxTail {
		t.text = append([]byte(nil), t.text[len(t.text)-maxTail:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text[max(0, len(t.text)-maxTail):]), ""))
}

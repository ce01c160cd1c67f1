package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/messages"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/optional"
)

const (
	// maxCall bounds one request, however much the provider dribbles.
	maxCall = time.Hour
	// maxRefusal bounds what is read of a refusal, in bytes.
	maxRefusal = 64 << 10
	// leftovers is how long, and how many bytes, are waited for behind an
	// answer so that its connection can be used again.
	leftoverTime  = 20 * time.Millisecond
	leftoverBytes = 64 << 10
)

// once makes one request and reads its answer into b.
func (m *model) once(ctx context.Context, c *wire.Call, keys *credentials, b *wire.Builder) (http.Header, error) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, m.longest(), errTooSlow)
	defer stop()
	quiet := newWatchdog(m.timeout(), cancel)
	defer quiet.stop()

	req, err := m.request(ctx, keys, c)
	if err != nil {
		return nil, err
	}
	resp, err := m.cfg.HTTP.Do(req)
	if err != nil {
		return nil, causeOf(parent, ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	heard, err := decompress(&listener{r: resp.Body, quiet: quiet}, resp.Header)
	if err != nil {
		return resp.Header, causeOf(parent, ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Header, m.refusal(resp, heard)
	}
	if err := m.read(heard, resp.Header, b); err != nil {
		return resp.Header, causeOf(parent, ctx, err)
	}
	quiet.within(leftoverTime)
	_, _ = io.CopyN(io.Discard, resp.Body, leftoverBytes)
	return resp.Header, parent.Err()
}

// causeOf says why a request failed: because its caller gave up, because the
// provider was silent, or as it says itself.
func causeOf(parent, ctx context.Context, err error) error {
	if parent.Err() != nil {
		return parent.Err()
	}
	if cause := context.Cause(ctx); errors.Is(cause, errTimeout) || errors.Is(cause, errTooSlow) {
		return cause
	}
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		if gone := absent(hostPort(failed.URL), dialled(op.Err), op.Err); gone != nil {
			return gone
		}
		return fmt.Errorf("connect to the proxy of %s: %w", hostOf(failed.URL), netcause.Of(op.Err))
	}
	if gone := absent(hostPort(failed.URL), "", failed.Err); gone != nil {
		return gone
	}
	return fmt.Errorf("connect to %s: %w", hostOf(failed.URL), netcause.Of(failed.Err))
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the provider"
	}
	return u.Scheme + "://" + u.Host
}

// hostPort is the host of a URL, with the port if the URL names one.
func hostPort(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the provider"
	}
	return u.Host
}

// dialled is the address that a dial of a proxy failed for.
func dialled(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Name
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return op.Addr.String()
	}
	return "of the environment"
}

// timeout is how long the provider may say nothing; 0 is for ever.
func (m *model) timeout() time.Duration { return seconds(optional.Or(m.cfg.Profile.IdleTimeout, 0)) }

// longest is how long one attempt may take, however much comes. A profile without
// the field may have a slow model of the user's own: there only silence counts.
func (m *model) longest() time.Duration {
	if whole := m.cfg.Profile.Whole(); whole > 0 {
		return min(seconds(whole), maxCall)
	}
	return maxCall
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (m *model) refusal(resp *http.Response, body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxRefusal))
	if err != nil && len(data) == 0 {
		data = nil // the status says enough
	}
	f := wire.ParseFailure(resp.StatusCode, resp.Header, data, m.cfg.Now())
	const redirects = 3 // of the statuses: 3xx
	if resp.StatusCode/100 == redirects {
		f.Message = "the server redirects to " + hostOf(resp.Header.Get("Location")) + "; set base_url to the address of the API"
	}
	return f
}

func (m *model) request(ctx context.Context, keys *credentials, c *wire.Call) (*http.Request, error) {
	body, err := m.dialect.Body(c)
	if err != nil {
		return nil, err
	}
	sent := &sending{encode: func() ([]byte, error) { return m.dialect.Body(c) }}
	req, err := http.NewRequestWithContext(sent.traced(ctx), http.MethodPost, m.route.url, sent.begin(body))
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	req.GetBody = sent.again
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("Accept-Encoding", "identity") // what is compressed comes late
	h.Set("User-Agent", m.cfg.UserAgent)
	m.headers(h, c)
	authorize(h, &m.route, keys)
	for name, v := range m.cfg.Profile.ExtraHeaders {
		h.Set(name, v.Reveal())
	}
	if m.route.style == converseStyle {
		h.Set("Accept", "application/vnd.amazon.eventstream")
		if h.Get("Authorization") == "" {
			converse.Sign(req, body, keys.aws, m.cfg.Now())
		}
	}
	return req, nil
}

// headers sets the headers that hold no secret.
func (m *model) headers(h http.Header, c *wire.Call) {
	p := &m.cfg.Profile
	if m.route.provider.prefix == "openrouter" {
		h.Set("HTTP-Referer", p.OpenRouterSiteURL)
		h.Set("X-Title", p.OpenRouterAppName)
	}
	if m.route.provider.proxy && c.Options.Session != "" {
		h.Set("X-Litellm-Session-Id", c.Options.Session)
	}
	if m.route.style == messagesStyle {
		h.Set("Anthropic-Version", messages.Version)
	}
	if c.Options.Thinking > 0 && m.features.thinking == manualThinking && m.route.style != converseStyle {
		h.Set("Anthropic-Beta", messages.Interleaved)
	}
}

// authorize puts the key where the provider looks for it.
func authorize(h http.Header, r *route, keys *credentials) {
	switch {
	case keys.key == "":
	case r.style == messagesStyle:
		h.Set("X-Api-Key", keys.key)
	case r.style == geminiStyle:
		h.Set("X-Goog-Api-Key", keys.key)
	case r.provider.prefix == "azure":
		h.Set("Api-Key", keys.key)
	case r.style == converseStyle && keys.aws.AccessKeyID != "" && keys.aws.SecretAccessKey != "":
	default:
		h.Set("Authorization", "Bearer "+keys.key)
	}
}

// watchdog cancels a request whose provider is silent for too long.
type watchdog struct {
	timer *time.Timer // nil: never
	limit time.Duration
	fire  func()
}

func newWatchdog(limit time.Duration, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{limit: limit, fire: func() { cancel(errTimeout) }}
	if limit > 0 {
		w.timer = time.AfterFunc(limit, w.fire)
	}
	return w
}

// heard starts the time again.
func (w *watchdog) heard() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// within sets another, last limit.
func (w *watchdog) within(limit time.Duration) {
	w.stop()
	w.timer = time.AfterFunc(limit, w.fire)
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// listener tells the watchdog of every byte.
type listener struct {
	r     io.Reader
	quiet *watchdog
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.quiet.heard()
	}
	return n, err
}

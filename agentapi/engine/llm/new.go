package llm

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/outgoing"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/netproxy"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/optional"
)

// The fields of a profile that [Config.Key] is asked for.
const (
	FieldAPIKey             = llmentry.FieldAPIKey
	FieldAWSAccessKeyID     = llmentry.FieldAWSAccessKeyID
	FieldAWSSecretAccessKey = llmentry.FieldAWSSecretAccessKey
	FieldAWSSessionToken    = llmentry.FieldAWSSessionToken
)

// Config is what a [Model] is made of.
type Config struct {
	Profile Profile
	Name    string // of the profile, for the commands in errors; empty: it has none

	// Key finds a secret of the profile by the name of its field; "" if there
	// is none, or a *NoKeyError that says why. It is asked at every call. Nil: the profile's own values.
	Key func(ctx context.Context, field string) (string, error)

	// HTTP makes the requests; connections are reused as far as its transport
	// does. It follows no redirect and has no timeout, whatever it is set to.
	// Nil: NewHTTPClient, with the proxies that Getenv names.
	HTTP *http.Client

	// UsageID is the key of the model's numbers; empty: the profile's.
	UsageID string

	// Fallback finds another profile by its name, for the profile's
	// fallback_strategy. Nil: there is no fallback. What it returns is used
	// without a fallback of its own.
	Fallback func(name string) (Config, error)

	// Getenv reads the environment: base URLs of providers, the region of AWS,
	// ALLOW_SHORT_CONTEXT_WINDOWS. No key is looked up there. Nil: nothing.
	Getenv func(string) string

	// Windows remembers the sizes of the contexts of local servers, for all models
	// that share it. Nil: no server is asked, and nothing is learned.
	Windows *window.Book

	// AllowRepetition lets an answer go on that repeats itself.
	AllowRepetition bool

	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger     // nil: nothing is logged
	UserAgent string           // empty: "ohgw"
}

// NewHTTPClient makes a client for models: one pool of connections, and the
// proxies that getenv names (HTTPS_PROXY, NO_PROXY, ...); none if it is nil.
//
// A connection of HTTP/2 that a network has lost in silence takes every call
// with it, so it is asked for a sign of life after a while without one.
func NewHTTPClient(getenv func(string) string) *http.Client {
	const (
		dial      = 30 * time.Second
		handshake = 15 * time.Second
		idle      = 90 * time.Second
		perHost   = 64 // as many conversations as one host is likely to serve
		silence   = 15 * time.Second
		sign      = 10 * time.Second
		// An answer comes in small frames, and what is larger than a buffer
		// goes past it.
		read, write = 2 << 10, 1 << 10
	)
	t := &http.Transport{
		DialContext:            outgoing.Dialing((&net.Dialer{Timeout: dial}).DialContext),
		TLSHandshakeTimeout:    handshake,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: sign},
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        idle,
		ReadBufferSize:         read,
		WriteBufferSize:        write,
		OnProxyConnectResponse: netproxy.Connected,
	}
	if getenv != nil {
		t.Proxy = netproxy.Rule(getenv)
	}
	return &http.Client{Transport: t}
}

// New makes the model of a profile. It makes no request. The error is a
// [*fault.Error] for a profile that cannot work, or an [*Error] for a model
// that is too small for an agent.
func New(cfg Config) (Model, error) {
	cfg.setDefaults()
	p := &cfg.Profile
	if p.AuthType == "subscription" || p.IsSubscription {
		return nil, fault.New("the profile logs in with a subscription, which the embedded engine does not support",
			"use a profile with an API key, or use an agent-server with --agent-server", nil)
	}
	f := featuresOf(p)
	r, err := routeOf(p, f, cfg.Getenv)
	if err != nil {
		return nil, err
	}
	m := &model{cfg: cfg, features: f, route: r, dialect: r.dialect(f)}
	m.window = optional.Or(p.MaxInputTokens, f.facts.window)
	m.output = maxOutput(p, f.facts, m.window, r.provider.local)
	if m.window > 0 && m.window < minWindow && !allowed(cfg.Getenv("ALLOW_SHORT_CONTEXT_WINDOWS")) {
		return nil, tooSmall(m.window)
	}
	var dropped []string
	m.options, dropped = m.baseOptions()
	if len(dropped) > 0 && !p.DropParams {
		return nil, fault.New("the model "+p.Model+" does not accept "+strings.Join(dropped, ", "),
			"remove it from the profile, or set drop_params to true", nil)
	}
	return m, nil
}

func (cfg *Config) setDefaults() {
	if cfg.HTTP == nil {
		cfg.HTTP = NewHTTPClient(cfg.Getenv)
	}
	client := *cfg.HTTP
	// A redirect would take the key and the conversation to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Timeout = 0 // an answer may take long; the profile says how long a silence may
	cfg.HTTP = &client
	if cfg.UsageID == "" {
		cfg.UsageID = cfg.Profile.UsageID
	}
	if cfg.Getenv == nil {
		cfg.Getenv = func(string) string { return "" }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "ohgw"
	}
	if cfg.Key == nil {
		p := cfg.Profile
		cfg.Key = func(_ context.Context, field string) (string, error) {
			if own := p.Secret(field); own != nil {
				return own.Reveal(), nil
			}
			return "", nil
		}
	}
}

func allowed(v string) bool {
	switch strings.ToLower(v) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// model is a Model over HTTP.
type model struct {
	cfg      Config
	features features
	route    route
	dialect  wire.Dialect
	options  wire.Options // of every call
	window   int64
	output   int64
	fitted   imageCache
}

// Format shows the model's name and nothing else.
func (m *model) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "llm.Model("+m.cfg.Profile.Model+")")
}

// Info is what is known of the model.
func (m *model) Info() Info {
	p := &m.cfg.Profile
	tokens, served := m.size()
	return Info{
		Model: p.Model, UsageID: m.cfg.UsageID, ContextWindow: tokens, Served: served, MaxOutput: m.output,
		Vision: m.features.vision, ImageTokens: m.imageTokens(), NativeTools: m.nativeTools(), Streams: true,
	}
}

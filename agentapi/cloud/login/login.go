// Package login gets a key for an OpenHands Cloud account by the device flow: the
// person confirms a code in a browser, and the program asks until that is done. It
// stores nothing.
package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

// The ways in which a login ends without a key.
var (
	ErrDenied  = errors.New("the login was denied")
	ErrExpired = errors.New("the code has expired")
)

const (
	defaultInterval = 5 * time.Second
	maxInterval     = 30 * time.Second
	defaultLife     = 10 * time.Minute
	grantType       = "urn:ietf:params:oauth:grant-type:device_code"
)

// Options is what a Client is made of. URL is needed.
type Options struct {
	URL     string
	HTTP    http.RoundTripper
	Client  string
	Version string
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) error
	Timeout time.Duration
}

// Client logs in to one server.
type Client struct{ t *transport.Client }

// New makes a Client. It sends nothing.
func New(o Options) (*Client, error) {
	t, err := transport.New(transport.Options{
		URL: o.URL, HTTP: o.HTTP, Client: o.Client, Version: o.Version, Now: o.Now, Sleep: o.Sleep, Timeout: o.Timeout,
	})
	if err != nil {
		return nil, err
	}
	return &Client{t: t}, nil
}

// Device is a login that waits for the person.
type Device struct {
	UserCode string // to compare, or to type
	URL      string // where to confirm it
	FullURL  string // the same with the code in it; "" if the server has none
	Expires  time.Time
	Interval time.Duration

	code hidden.Text
}

// Key is the key that a login gives.
type Key struct {
	Key     hidden.Text
	Expires time.Time // zero: it does not say
}

// Authorize begins a login. Its addresses are always on the server's own host:
// behind a proxy a server may print others.
func (c *Client) Authorize(ctx context.Context) (Device, error) {
	var got struct {
		DeviceCode hidden.Text `json:"device_code"`
		UserCode   string      `json:"user_code"`
		URI        string      `json:"verification_uri"`
		Complete   string      `json:"verification_uri_complete"`
		ExpiresIn  float64     `json:"expires_in"`
		Interval   float64     `json:"interval"`
	}
	err := c.t.Call(ctx, transport.Request{Method: http.MethodPost, Path: "/oauth/device/authorize", In: struct{}{}, Out: &got, Keyless: true, Repeat: true})
	if err != nil {
		return Device{}, fmt.Errorf("begin login: %w", err)
	}
	d := Device{UserCode: got.UserCode, code: got.DeviceCode, Interval: defaultInterval, Expires: c.t.Now().Add(defaultLife)}
	if got.Interval >= 1 {
		d.Interval = min(time.Duration(got.Interval*float64(time.Second)), maxInterval)
	}
	if got.ExpiresIn > 0 && got.ExpiresIn < 24*60*60 {
		d.Expires = c.t.Now().Add(time.Duration(got.ExpiresIn * float64(time.Second)))
	}
	if d.URL, err = c.own(got.URI); err == nil && got.Complete != "" {
		d.FullURL, err = c.own(got.Complete)
	}
	if err == nil && d.code.IsZero() {
		err = fmt.Errorf("%w: the answer has no device code", transport.ErrWrongEndpoint)
	}
	if err != nil {
		return Device{}, fmt.Errorf("begin login: %w", err)
	}
	return d, nil
}

// own puts an address of the server on the root that was configured.
func (c *Client) own(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Path == "" || u.User != nil {
		return "", fmt.Errorf("%w: the answer has no address to confirm at", transport.ErrWrongEndpoint)
	}
	root := c.t.Root()
	if u.Host != "" && u.Hostname() != root.Hostname() {
		return "", fmt.Errorf("%w: the server wants the login confirmed at another host, %s", transport.ErrRefused, u.Hostname())
	}
	u.Scheme, u.Host = root.Scheme, root.Host
	return u.String(), nil
}

// Poll asks until the person has confirmed the login, denied it, or let it expire.
// A network failure does not end it.
func (c *Client) Poll(ctx context.Context, d Device) (Key, error) {
	pause, failures := d.Interval, 0
	for {
		if !c.t.Now().Before(d.Expires) {
			return Key{}, ErrExpired
		}
		if err := c.t.Sleep(ctx, pause); err != nil {
			return Key{}, fmt.Errorf("login: %w", err)
		}
		key, interval, err := c.ask(ctx, d)
		if err == nil {
			return key, nil
		}
		e, ok := errors.AsType[*transport.Error](err)
		if !ok || ctx.Err() != nil {
			return Key{}, err
		}
		switch {
		case e.Status == 0: // The network.
		case e.Status >= 500:
			if failures++; failures > 2 {
				return Key{}, fmt.Errorf("login: %w", err)
			}
		default:
			if pause, err = slower(e, pause, interval); err != nil {
				return Key{}, err
			}
		}
	}
}

// slower reads what the server says while it waits: the pause till the next
// question, or why there is none.
func slower(e *transport.Error, pause, interval time.Duration) (time.Duration, error) {
	switch {
	case e.Code == "authorization_pending":
		return pause, nil
	case e.Code == "slow_down", e.Is(transport.ErrRateLimited):
		return min(max(interval, e.RetryAfter, pause+defaultInterval), maxInterval), nil
	case e.Code == "expired_token":
		return 0, ErrExpired
	case e.Code == "access_denied":
		return 0, ErrDenied
	}
	return 0, fmt.Errorf("login: %w", e)
}

func (c *Client) ask(ctx context.Context, d Device) (Key, time.Duration, error) {
	var got struct {
		AccessToken hidden.Text `json:"access_token"`
		ExpiresIn   *float64    `json:"expires_in"`
	}
	err := c.t.Call(ctx, transport.Request{
		Method: http.MethodPost, Path: "/oauth/device/token", Keyless: true, Out: &got,
		Form: url.Values{"device_code": {d.code.Reveal()}, "grant_type": {grantType}},
	})
	if err != nil {
		return Key{}, intervalOf(err), err
	}
	if got.AccessToken.IsZero() {
		return Key{}, 0, fmt.Errorf("login: %w: the answer has no key", transport.ErrWrongEndpoint)
	}
	key := Key{Key: got.AccessToken}
	if got.ExpiresIn != nil && *got.ExpiresIn > 0 {
		key.Expires = c.t.Now().Add(time.Duration(*got.ExpiresIn * float64(time.Second)))
	}
	return key, 0, nil
}

func intervalOf(err error) time.Duration {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		return e.Interval
	}
	return 0
}

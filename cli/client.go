package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/token"
)

// askTimeout bounds one question to the daemon.
const askTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// client asks a running daemon.
type client struct {
	http  *http.Client
	base  string        // without /v1 and without a slash at the end
	key   string        // "" to show none
	noKey error         // why there is none; may be nil
	with  string        // which key it is, for people
	found instance.Info // the daemon of this user; zero when another URL was named
}

// daemonClient finds the daemon, and what to show to it: OHGW_API_KEY, else the
// first of OHGW_API_KEYS, else the default token. The latter is for daemons on
// this machine only; no other one could know it.
func (a *app) daemonClient(ctx context.Context, flags settingFlags) (*client, error) {
	s, err := a.settings(flags)
	if err != nil {
		return nil, err
	}
	c, err := a.findDaemon(ctx, s)
	if errors.Is(err, instance.ErrNotRunning) {
		return nil, notFound(err)
	}
	return c, err
}

// findDaemon is daemonClient with settings that are known. The error is
// instance.ErrNotRunning where there is no daemon, and none was named.
func (a *app) findDaemon(ctx context.Context, s *config.Settings) (*client, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	c := &client{http: a.HTTP, base: strings.TrimSuffix(s.Client.URL, "/v1"), key: a.Getenv("OHGW_API_KEY")}
	from := s.Origin("client.url").String()
	if c.base == "" {
		c.found, err = instance.Find(dirs.Runtime)
		switch {
		case errors.Is(err, instance.ErrNotRunning):
			return nil, err
		case err != nil:
			return nil, notFound(err)
		}
		c.base, from = c.found.URL, dirs.Runtime
	}
	if err := a.ownKey(ctx, s, c); err != nil {
		return nil, err
	}
	a.detail("daemon %s (%s), key: %s", c.base, from, c.with)
	return c, nil
}

// ownKey finds what c shows. That there is nothing is no error: the answer of
// the daemon says whether it wants something.
func (a *app) ownKey(ctx context.Context, s *config.Settings, c *client) error {
	keys := token.SplitKeys(a.Getenv("OHGW_API_KEYS"))
	switch {
	case c.key != "":
		c.with = "OHGW_API_KEY"
	case len(keys) > 0:
		c.key, c.with = keys[0], "OHGW_API_KEYS"
	case onThisMachine(c.base):
		store, values, err := a.tokenStore(s)
		if err != nil {
			return err
		}
		defer a.tellLate(keyringSlow)()
		value, place, err := store.Default(ctx)
		c.key, c.noKey, c.with = value.Reveal(), err, "the default token ("+values.placeText(place)+")"
		if err != nil {
			c.with = "no key: " + err.Error()
		}
	default:
		c.with = "none"
	}
	return nil
}

func notFound(err error) error {
	f := &fault.Error{
		Msg:  "no daemon is running",
		Hint: "start it with ohgw serve, or name one elsewhere with --url",
		Code: fault.Unreachable,
	}
	if !errors.Is(err, instance.ErrNotRunning) {
		f.Msg, f.Err = "the running daemon cannot be found", err
	}
	return f
}

// onThisMachine tells whether a URL leads nowhere else.
func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	return loopbackHost(u.Hostname())
}

// loopbackHost tells whether a host name or address is this machine only.
func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// get asks for a path and decodes the answer into out. Raw is the answer as it
// came.
func (c *client) get(ctx context.Context, path string, out any) (raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.base, err)
	}
	req.Header.Set("Accept", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.silent(err)
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	raw, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, c.silent(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, c.refused(resp.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, c.stranger(err)
	}
	return raw, nil
}

// silent is the error for a daemon that does not answer.
func (c *client) silent(err error) error {
	return &fault.Error{
		Msg: "the daemon at " + c.base + " does not answer", Hint: "is it running there? ohgw serve starts one",
		Code: fault.Unreachable, Err: netCause(err),
	}
}

// stranger is the error for something that is no ohgw.
func (c *client) stranger(err error) error {
	return &fault.Error{
		Msg: "what answers at " + c.base + " is no ohgw", Hint: "name the right address with --url or OHGW_URL",
		Code: fault.Unreachable, Err: err,
	}
}

// refused is the error for an answer that is not 200.
func (c *client) refused(status int, body []byte) error {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Error.Message == "" {
		return c.stranger(fmt.Errorf("status %d", status))
	}
	cause := errors.New(envelope.Error.Message)
	switch {
	case status == http.StatusUnauthorized:
		return c.locked(cause)
	case status >= http.StatusInternalServerError:
		return &fault.Error{Msg: "the daemon cannot answer now", Hint: "see what ohgw status says", Code: fault.Unreachable, Err: cause}
	}
	return fault.New("the daemon refuses the request", "see the cause", cause)
}

// locked is the error for a key that the daemon does not take.
func (c *client) locked(cause error) error {
	f := &fault.Error{Msg: "the daemon at " + c.base + " does not take our key", Hint: "put one of its tokens into OHGW_API_KEY", Code: fault.Credential, Err: cause}
	if c.key != "" {
		return f
	}
	f.Msg = "the daemon at " + c.base + " wants a key"
	if gone, ok := errors.AsType[*secret.UnavailableError](c.noKey); ok {
		f.Err = gone
		f.Hint = "unlock the keyring, which has the default token, or put a token into OHGW_API_KEY"
	} else if c.noKey != nil {
		f.Err = c.noKey
	}
	return f
}

// netCause is the part of a network error that people need: the message has
// the address already.
func netCause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("no answer in time")
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// completeModels offers the ids of the running daemon's models. A key press
// does not wait long for them.
func (a *app) completeModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	c, err := a.daemonClient(ctx, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list modelList
	if _, err := c.get(ctx, "/v1/models", &list); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		ids = append(ids, m.ID+"\t"+m.Description)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// Package running asks the daemon that runs, or the one that was named.
package running

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

// askTimeout bounds one question to the daemon.
const askTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// Daemon asks a running daemon.
type Daemon struct {
	HTTP  *http.Client
	Base  string        // without /v1 and without a slash at the end
	Key   string        // "" to show none
	noKey error         // why there is none; may be nil
	hint  string        // how to have one; "" if nothing special is known
	With  string        // which key it is, for people
	Found instance.Info // the daemon of this user; zero when another URL was named
}

// Require is Find for commands that need a daemon.
func Require(ctx context.Context, env *setup.Env, s *config.Settings) (*Daemon, error) {
	c, err := Find(ctx, env, s)
	if errors.Is(err, instance.ErrNotRunning) {
		return nil, notFound(err)
	}
	return c, err
}

// Find finds the daemon that the settings name, or that runs. The error is
// instance.ErrNotRunning where there is no daemon, and none was named.
func Find(ctx context.Context, env *setup.Env, s *config.Settings) (*Daemon, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	c := &Daemon{HTTP: env.HTTP, Base: strings.TrimSuffix(s.Client.URL, "/v1"), Key: env.Getenv("OHGW_API_KEY")}
	from := s.Origin("client.url").String()
	if c.Base == "" {
		c.Found, err = instance.Find(dirs.Runtime)
		switch {
		case errors.Is(err, instance.ErrNotRunning):
			return nil, err
		case err != nil:
			return nil, notFound(err)
		}
		c.Base, from = c.Found.URL, dirs.Runtime
	}
	if c.Key != "" {
		key, err := env.KeyVariable("OHGW_API_KEY", c.Key)
		if err != nil {
			return nil, err
		}
		c.Key = key.Reveal()
	}
	if err := chooseKey(ctx, env, s, c); err != nil {
		return nil, err
	}
	env.Detail("daemon %s (%s), key: %s", c.Base, from, c.With)
	return c, nil
}

// chooseKey finds what c shows: OHGW_API_KEY, else the first of OHGW_API_KEYS, else
// the default token. The latter is for daemons on this machine only; no other
// one could know it. That there is nothing is not an error: the answer of
// the daemon reports whether it wants something.
func chooseKey(ctx context.Context, env *setup.Env, s *config.Settings, c *Daemon) error {
	keys := token.SplitKeys(env.Getenv("OHGW_API_KEYS"))
	switch {
	case c.Key != "":
		c.With = "OHGW_API_KEY"
	case len(keys) > 0:
		c.Key, c.With = keys[0], "OHGW_API_KEYS"
	case setup.OnThisMachine(c.Base):
		store, values, err := env.TokenStore(s)
		if err != nil {
			return err
		}
		defer env.TellLate(setup.KeyringSlow)()
		value, place, err := store.Default(ctx)
		c.Key, c.noKey, c.With = value.Reveal(), err, "the default token ("+values.PlaceText(place)+")"
		if err != nil {
			c.With, c.hint = "no key: "+err.Error(), tokenHint(env, err)
		}
	default:
		c.With = "none"
	}
	return nil
}

// tokenHint is how to repair that the default token has no value here.
func tokenHint(env *setup.Env, err error) string {
	if f, ok := errors.AsType[*fault.Error](env.TokenFault(err, token.DefaultName)); ok {
		return f.Hint
	}
	return ""
}

func notFound(err error) error {
	f := &fault.Error{
		Msg:  "no daemon is running",
		Hint: "start one with ohgw serve, or set its address with --url",
		Code: fault.Unreachable,
	}
	if !errors.Is(err, instance.ErrNotRunning) {
		f.Msg, f.Err = "the running daemon cannot be found", err
	}
	return f
}

// Get asks for a path and decodes the answer into out. Raw is the answer as it
// came.
func (c *Daemon) Get(ctx context.Context, path string, out any) (raw []byte, err error) {
	return c.ask(ctx, http.MethodGet, path, out)
}

// Post is Get for a request that changes something and has no body.
func (c *Daemon) Post(ctx context.Context, path string, out any) (raw []byte, err error) {
	return c.ask(ctx, http.MethodPost, path, out)
}

func (c *Daemon) ask(ctx context.Context, method, path string, out any) (raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Base, err)
	}
	req.Header.Set("Accept", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.HTTP.Do(req)
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
		return nil, c.Stranger(err)
	}
	return raw, nil
}

// silent returns the error for a daemon that does not answer.
func (c *Daemon) silent(err error) error {
	return &fault.Error{
		Msg: "the daemon at " + c.Base + " does not answer", Hint: "check the address, or start a daemon there with ohgw serve",
		Code: fault.Unreachable, Err: netcause.Of(err),
	}
}

// Stranger returns the error for something that is not an ohgw.
func (c *Daemon) Stranger(err error) error {
	return &fault.Error{
		Msg: "what answers at " + c.Base + " is not an ohgw daemon", Hint: "set the correct address with --url or OHGW_URL",
		Code: fault.Unreachable, Err: err,
	}
}

// refused returns the error for an answer that is not 200.
func (c *Daemon) refused(status int, body []byte) error {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Error.Message == "" {
		return c.Stranger(fmt.Errorf("status %d", status))
	}
	cause := errors.New(envelope.Error.Message)
	switch {
	case status == http.StatusUnauthorized:
		return c.Locked(cause)
	case status >= http.StatusInternalServerError:
		return &fault.Error{Msg: "the daemon cannot answer at the moment", Hint: "run ohgw status", Code: fault.Unreachable, Err: cause}
	}
	return fault.New("the daemon refused the request", "see the cause", cause)
}

// NewKey gives the commands of a shell a token of the daemon on this machine.
const NewKey = `export OHGW_API_KEY="$(ohgw tokens create NAME)"`

// Locked returns the error for a key that the daemon does not take, and for a missing
// one.
func (c *Daemon) Locked(cause error) error {
	f := &fault.Error{Msg: "the daemon at " + c.Base + " rejected the key", Hint: "use a token of it: " + NewKey, Code: fault.Credential, Err: cause}
	if !setup.OnThisMachine(c.Base) {
		f.Hint = "create a token on its machine with ohgw tokens create NAME, then set OHGW_API_KEY to it here"
	}
	if c.Key != "" {
		return f
	}
	f.Msg = "the daemon at " + c.Base + " requires a key"
	if gone, ok := errors.AsType[*secret.UnavailableError](c.noKey); ok {
		f.Err = gone
		f.Hint = "unlock the keyring, which has the default token, or use another one: " + NewKey
	} else if c.noKey != nil {
		f.Err, f.Hint = c.noKey, cmp.Or(c.hint, f.Hint)
	}
	return f
}

// backendTimeout bounds the question what runs the agents.
const backendTimeout = 500 * time.Millisecond

// BackendName is what runs the agents of a daemon; empty where it does not say.
func (c *Daemon) BackendName(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	if h := c.Health(ctx); h.Backend != nil {
		return h.Backend.Name
	}
	return ""
}

// Health is what a daemon says about itself; empty where it says nothing.
func (c *Daemon) Health(ctx context.Context) daemon.Health {
	var h daemon.Health
	if _, err := c.Get(ctx, "/healthz", &h); err != nil {
		return daemon.Health{}
	}
	return h
}

// Local reports whether the daemon runs on this machine for sure: it is the one
// that this user's runtime directory names.
func (c *Daemon) Local() bool { return c.Found.URL != "" }

// Package modelcheck asks the models of profiles one short question each, and
// tells the failures apart that a person can act on.
package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

const (
	// atOnce is how many profiles are asked at the same time. More would
	// make providers refuse what they answer one at a time.
	atOnce = 8

	// DefaultTimeout is how long one of them may take without --timeout.
	DefaultTimeout = 30 * time.Second

	// LocalTimeout is how long a server on this machine or in its network may take:
	// it may have to load the model first, from a disk.
	LocalTimeout = 5 * time.Minute

	// maxAnswer is the longest answer that is asked for, in tokens: the least
	// that every provider takes.
	maxAnswer = 16
)

// Result is what came of asking the model of one profile.
type Result struct {
	Profile string        `json:"profile"`
	Model   string        `json:"model"`
	KeyFrom secret.Origin `json:"key_from"`
	Outcome Outcome       `json:"outcome"`
	Text    string        `json:"text"`
	Repair  string        `json:"repair,omitempty"`
	Seconds float64       `json:"seconds"`

	Path string
}

// Check asks the models of profiles, each once.
type Check struct {
	env     *setup.Env
	store   *profile.Store
	keys    *secret.Resolver
	timeout time.Duration
	tell    func(event.Phase) // may be nil
	llm     llm.Config
}

// New makes a check of the profiles in store. Each call to a model may take
// timeout.
func New(env *setup.Env, store *profile.Store, keys *secret.Resolver, timeout time.Duration) *Check {
	return &Check{env: env, store: store, keys: keys, timeout: timeout, llm: llm.Config{
		HTTP: llm.NewHTTPClient(env.Getenv), Windows: new(window.Book), Getenv: env.Getenv, Now: env.Now, UserAgent: "ohgw/" + buildinfo.Get().Version,
	}}
}

// Ask asks the models of these profiles, several at a time. The results are in
// the order of the names; the error is that of ctx. answered is called after
// each of them.
func (c *Check) Ask(ctx context.Context, names []string, answered func()) ([]Result, error) {
	defer c.llm.HTTP.CloseIdleConnections()
	results := make([]Result, len(names))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, name := range names {
		group.Go(func() error {
			if ctx.Err() == nil {
				results[i] = c.one(ctx, name)
				answered()
			}
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// one asks the model of a stored profile.
func (c *Check) one(ctx context.Context, name string) Result {
	out := Result{Profile: name}
	p, err := c.store.Load(name)
	if err != nil {
		out.fail(NotLoaded, err.Error(), "ohgw profiles check "+name)
		return out
	}
	return c.ask(ctx, p, &profileKey{keys: c.keys, profile: p, origin: secret.Origin{Kind: secret.FromNowhere}})
}

// Try asks the model of a profile that need not be stored. A key that is given counts
// before all others; the zero Value stands for no key. Try takes Patience at most.
// tell is called with each phase of the call, in the goroutine of the caller.
func (c *Check) Try(ctx context.Context, p *profile.Profile, given secret.Value, tell func(event.Phase)) Result {
	defer c.llm.HTTP.CloseIdleConnections()
	patient := *c
	patient.timeout, patient.tell = c.Patience(p), tell
	return patient.ask(ctx, p, &profileKey{keys: c.keys, profile: p, given: given, origin: secret.Origin{Kind: secret.FromNowhere}})
}

// Patience is how long Try waits for the model of a profile.
func (c *Check) Patience(p *profile.Profile) time.Duration {
	if p.LLM.BaseURL != nil && llm.MayBeLocal(*p.LLM.BaseURL) {
		return max(c.timeout, LocalTimeout)
	}
	return c.timeout
}

// ErrNoList says that a provider has no list of its models.
var ErrNoList = llm.ErrNoList

// Models asks the provider of such a profile for its models, which
// it names without the provider's prefix. loads is called once if its server loads the
// model first; it may be nil. The error may be ErrNoList.
func (c *Check) Models(ctx context.Context, p *profile.Profile, given secret.Value, loads func()) ([]string, error) {
	defer c.llm.HTTP.CloseIdleConnections()
	key := &profileKey{keys: c.keys, profile: p, given: given}
	cfg, err := c.config(p, key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Patience(p), errTimeout)
	defer cancel()
	return llm.AwaitModels(ctx, cfg, loads)
}

// ask makes the smallest call to the model of a profile.
func (c *Check) ask(ctx context.Context, p *profile.Profile, key *profileKey) Result {
	out := Result{Profile: p.Name, Model: p.LLM.Model, Path: p.Path}
	model, err := c.model(p, key)
	if err != nil {
		c.explain(&out, key, err)
		return out
	}
	// The user may have to unlock the keyring: that is not the model's time.
	if _, err := key.find(ctx, llm.FieldAPIKey); err != nil {
		c.explain(&out, key, err)
		return out
	}
	started := c.env.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	if s, ok := model.(llm.Sizer); ok && c.tell != nil {
		s.FindSize(ctx) // so it is known whether the model has to be loaded
	}
	_, err = model.Generate(ctx, llm.Request{Messages: []event.LLMMessage{
		{Role: "user", Content: []event.Content{event.Text("Answer with one word: yes")}},
	}}, func(d llm.Delta) {
		if d.Phase != nil && c.tell != nil {
			c.tell(*d.Phase)
		}
	})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTimeout) {
		err = fmt.Errorf("%w of %s", errTimeout, c.timeout)
	}
	out.Seconds = c.env.Now().Sub(started).Round(time.Millisecond).Seconds()
	c.explain(&out, key, err)
	return out
}

// model is the model of a profile with the least to do: one try, a few tokens,
// no thinking.
func (c *Check) model(p *profile.Profile, key *profileKey) (llm.Model, error) {
	cfg, err := c.config(p, key)
	if err != nil {
		return nil, err
	}
	limit := int64(maxAnswer)
	cfg.Profile.MaxOutputTokens = &limit
	cfg.Profile.NumRetries, cfg.Profile.FallbackStrategy = 1, nil
	// A budget to think with is larger than the answer may be.
	cfg.Profile.ReasoningEffort, cfg.Profile.ExtendedThinkingBudget = nil, nil
	return llm.New(cfg)
}

// config is the LLM of a profile.
func (c *Check) config(p *profile.Profile, key *profileKey) (llm.Config, error) {
	cfg := c.llm
	cfg.Profile, cfg.Name, cfg.Key = p.LLM, p.Name, key.find
	return cfg, p.LLM.Check()
}

// profileKey finds the secrets of a profile as a run of it would, and remembers
// where the last one came from.
type profileKey struct {
	keys    *secret.Resolver
	profile *profile.Profile
	given   secret.Value // the API key, if it is not to be looked for
	origin  secret.Origin
	skipped []secret.Skipped
}

func (k *profileKey) find(ctx context.Context, field string) (string, error) {
	if field == llm.FieldAPIKey {
		field = secret.APIKey
	}
	if field == secret.APIKey && !k.given.IsZero() {
		k.origin = secret.Origin{Kind: secret.FromProfileEntry}
		return k.given.Reveal(), nil
	}
	found, err := k.keys.Resolve(ctx, k.profile.Subject(field))
	if field == secret.APIKey {
		k.skipped = found.Skipped
	}
	if _, none := errors.AsType[*secret.NoKeyError](err); none {
		return "", k.keys.Unusable(k.profile.Subject(field), err)
	}
	if err != nil {
		return "", err
	}
	k.origin = found.Origin
	return found.Key.Reveal(), nil
}

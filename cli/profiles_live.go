package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

const (
	// liveCalls is how many profiles are asked at the same time. More would
	// make providers refuse what they answer one at a time.
	liveCalls = 8

	// liveTimeout is how long one of them may take without --timeout.
	liveTimeout = 30 * time.Second

	// liveOutput is the longest answer that is asked for, in tokens: the least
	// that every provider takes.
	liveOutput = 16
)

// liveResult is what came of asking the model of one profile.
type liveResult struct {
	Profile string        `json:"profile"`
	Model   string        `json:"model"`
	KeyFrom secret.Origin `json:"key_from"`
	Outcome outcome       `json:"outcome"`
	Text    string        `json:"text"`
	Repair  string        `json:"repair,omitempty"`
	Seconds float64       `json:"seconds"`

	path string
}

// liveCheck asks the models of profiles, each once.
type liveCheck struct {
	app     *app
	store   *profile.Store
	keys    *secret.Resolver
	timeout time.Duration
	llm     llm.Config
}

func (a *app) liveCheck(store *profile.Store, keys *secret.Resolver, timeout time.Duration) *liveCheck {
	return &liveCheck{app: a, store: store, keys: keys, timeout: timeout, llm: llm.Config{
		HTTP: llm.NewHTTPClient(a.Getenv), Getenv: a.Getenv, Now: a.Now, UserAgent: "ohgw/" + buildinfo.Get().Version,
	}}
}

// ask asks the models of these profiles, several at a time. The results are in
// the order of the names; the error is that of ctx.
func (c *liveCheck) ask(ctx context.Context, names []string) ([]liveResult, error) {
	defer c.llm.HTTP.CloseIdleConnections()
	results := make([]liveResult, len(names))
	progress := c.app.progress(len(names), "models have answered")
	defer progress.end()
	var group errgroup.Group
	group.SetLimit(liveCalls)
	for i, name := range names {
		group.Go(func() error {
			if ctx.Err() == nil {
				results[i] = c.one(ctx, name)
				progress.step()
			}
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// one makes the smallest call to the model of a profile.
func (c *liveCheck) one(ctx context.Context, name string) liveResult {
	out := liveResult{Profile: name}
	p, err := c.store.Load(name)
	if err != nil {
		out.fail(notLoaded, err.Error(), "ohgw profiles check "+name)
		return out
	}
	out.Model, out.path = p.LLM.Model, p.Path
	key := &liveKey{keys: c.keys, profile: p, origin: secret.Origin{Kind: secret.FromNowhere}}
	model, err := c.model(p, key)
	if err != nil {
		c.explain(&out, key, err)
		return out
	}
	// Somebody may have to unlock the keyring: that is not the model's time.
	if _, err := key.find(ctx, llm.FieldAPIKey); err != nil {
		c.explain(&out, key, err)
		return out
	}
	started := c.app.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errLiveTimeout)
	defer cancel()
	_, err = model.Generate(ctx, llm.Request{Messages: []event.LLMMessage{
		{Role: "user", Content: []event.Content{event.Text("Answer with one word: yes")}},
	}}, nil)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errLiveTimeout) {
		err = fmt.Errorf("%w of %s", errLiveTimeout, c.timeout)
	}
	out.Seconds = c.app.Now().Sub(started).Round(time.Millisecond).Seconds()
	c.explain(&out, key, err)
	return out
}

// model is the model of a profile with the least to do: one try, a few tokens,
// no thinking.
func (c *liveCheck) model(p *profile.Profile, key *liveKey) (llm.Model, error) {
	stored, err := json.Marshal(p.LLM)
	if err != nil {
		return nil, fmt.Errorf("encode profile: %w", err)
	}
	cfg := c.llm
	if cfg.Profile, err = llm.ParseProfile(stored); err != nil {
		return nil, err
	}
	addHidden(&cfg.Profile, &p.LLM)
	cfg.Name, cfg.Key = p.Name, key.find
	limit := int64(liveOutput)
	cfg.Profile.MaxOutputTokens = &limit
	cfg.Profile.NumRetries, cfg.Profile.FallbackStrategy = 1, nil
	// A budget to think with is larger than the answer may be.
	cfg.Profile.ReasoningEffort, cfg.Profile.ExtendedThinkingBudget = "", 0
	return llm.New(cfg)
}

// liveKey finds the secrets of a profile as a run of it would, and remembers
// where the last one came from.
type liveKey struct {
	keys    *secret.Resolver
	profile *profile.Profile
	origin  secret.Origin
	skipped []secret.Skipped
}

func (k *liveKey) find(ctx context.Context, field string) (string, error) {
	if field == llm.FieldAPIKey {
		field = secret.APIKey
	}
	found, err := k.keys.Resolve(ctx, k.profile.Subject(field))
	if field == secret.APIKey {
		k.skipped = found.Skipped
	}
	if _, none := errors.AsType[*secret.NoKeyError](err); none {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	k.origin = found.Origin
	return found.Key.Reveal(), nil
}

// addLive puts what the models said into the report of a check, in which problems
// are sorted by their files.
func addLive(report *profile.CheckReport, results []liveResult) {
	for _, r := range results {
		severity := r.Outcome.severity()
		known := slices.ContainsFunc(report.Problems, func(p profile.Problem) bool {
			return p.Profile == r.Profile && (p.Code == string(r.Outcome) || r.Outcome == notLoaded && p.Severity == profile.Error)
		})
		if severity == "" || known {
			continue
		}
		report.Problems = append(report.Problems, profile.Problem{
			Profile: r.Profile, Path: r.path, Code: string(r.Outcome), Severity: severity, Text: r.Text, Repair: r.Repair,
		})
	}
}

// progress says on a terminal how much of something is done.
type progress struct {
	app     *app
	total   int
	what    string
	waiting func() // ends the note for those who see no progress; nil for the others

	mu   sync.Mutex
	done int
}

func (a *app) progress(total int, what string) *progress {
	p := &progress{app: a, total: total, what: what}
	if a.Stderr.TTY() && a.Getenv("TERM") != "dumb" && !a.quiet && !a.json {
		p.show()
	} else {
		p.waiting = a.tellLate(fmt.Sprintf("waiting for %d models", total))
	}
	return p
}

// step counts one more.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.waiting == nil {
		p.show()
	}
}

// show writes over the line that it wrote before.
func (p *progress) show() {
	fmt.Fprintf(p.app.Stderr, "\r\x1b[K%d of %d %s", p.done, p.total, p.what)
}

// end takes the line away.
func (p *progress) end() {
	if p.waiting != nil {
		p.waiting()
		return
	}
	fmt.Fprint(p.app.Stderr, "\r\x1b[K")
}

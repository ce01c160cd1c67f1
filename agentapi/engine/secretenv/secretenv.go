// Package secretenv keeps the secrets of one conversation: it gives a command
// those that it names, as variables of its environment, and takes their values
// out of whatever comes back.
//
// Invariants: a value is in memory and in the environment of the processes
// that were given it, and nowhere else in the clear: not in a log, an error or
// a file. Masking compares with the values that were given out so far, and with
// the static ones that are long enough to be nothing else; it knows the forms
// that JSON, shells, URLs and base64 make of a value. A value that is cut in two
// by other text, or turned into yet another form, is not recognised.
package secretenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Mark stands where a value was.
const Mark = "<secret-hidden>"

const (
	lookupTimeout = 30 * time.Second
	// retryAfter is how long a look-up that failed is not tried again: each
	// command that names it would wait for it.
	retryAfter = 60 * time.Second
	maxValue   = 1 << 20
)

// Secret is where a value comes from. It never shows it.
type Secret struct {
	description string
	value       string // of a static one
	url         string // of one that is looked up
	headers     map[string]string
}

// Static is a secret whose value is known.
func Static(value, description string) Secret {
	return Secret{value: value, description: description}
}

// Lookup is a secret whose value is the body of a GET of that URL.
func Lookup(url string, headers map[string]string, description string) Secret {
	return Secret{url: url, headers: maps.Clone(headers), description: description}
}

const redacted = "secretenv.Secret(REDACTED)"

var errEncode = errors.New("a secret cannot be encoded by itself")

// String does not tell the value.
func (Secret) String() string { return redacted }

// GoString does not tell the value.
func (Secret) GoString() string { return redacted }

// LogValue does not tell the value.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON fails: see [Registry.Encode].
func (Secret) MarshalJSON() ([]byte, error) { return nil, errEncode }

// Config is what a Registry needs from outside.
type Config struct {
	HTTP *http.Client // for look-ups
	// BaseURL completes look-ups with a relative URL.
	BaseURL string
	Now     func() time.Time
}

// Registry is the secrets of one conversation. Its methods may be called at
// the same time. A nil Registry has no secrets.
type Registry struct {
	cfg Config

	mu      sync.Mutex
	secrets map[string]Secret
	given   map[string]string    // values that are masked, by name
	older   []string             // values that have been replaced since
	failed  map[string]time.Time // last failure, by name

	patterns atomic.Pointer[patterns] // what masking looks for
}

// New makes an empty registry.
func New(cfg Config) *Registry {
	r := &Registry{
		cfg: cfg, secrets: map[string]Secret{}, given: map[string]string{}, failed: map[string]time.Time{},
	}
	r.patterns.Store(compile(nil))
	return r
}

// Set adds secrets, or replaces those with the same names. A static value of at
// least eight bytes is masked from now on, any other one when it is first given
// out. Values that were known before stay masked.
func (r *Registry) Set(secrets map[string]Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, s := range secrets {
		r.secrets[name] = s
		delete(r.failed, name)
		if old, ok := r.given[name]; ok {
			r.older = append(r.older, old)
			delete(r.given, name)
		}
		if s.url == "" && len(s.value) >= minForms {
			r.given[name] = s.value
		}
	}
	r.compile()
}

// compile makes the known values those that are masked. The caller holds r.mu.
func (r *Registry) compile() {
	r.patterns.Store(compile(slices.AppendSeq(slices.Clone(r.older), maps.Values(r.given))))
}

// Listed is what may be said of a secret.
type Listed struct{ Name, Description string }

// List names the secrets, sorted.
func (r *Registry) List() []Listed {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Listed, 0, len(r.secrets))
	for _, name := range slices.Sorted(maps.Keys(r.secrets)) {
		out = append(out, Listed{name, r.secrets[name].description})
	}
	return out
}

// Variable is an environment variable with a secret in it.
type Variable struct{ Name, value string }

// Value is the secret itself, for the environment of a process.
func (v Variable) Value() string { return v.value }

// String does not tell the value.
func (v Variable) String() string { return v.Name + "=" + Mark }

// GoString does not tell the value.
func (v Variable) GoString() string { return v.String() }

// variableName is what a shell can have as a name.
var variableName = pattern.Of(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// For returns the secrets that a command names, sorted: those whose name occurs
// in it in any case and can be the name of a variable. A secret that cannot be
// had is in missing; the command may do without it.
func (r *Registry) For(ctx context.Context, command string) (vars []Variable, missing []string) {
	if r == nil {
		return nil, nil
	}
	lower := strings.ToLower(command)
	for _, l := range r.List() {
		if !variableName().MatchString(l.Name) || !strings.Contains(lower, strings.ToLower(l.Name)) {
			continue
		}
		value, err := r.Value(ctx, l.Name)
		switch {
		case err != nil:
			missing = append(missing, l.Name)
		case value != "":
			vars = append(vars, Variable{l.Name, value})
		}
	}
	return vars, missing
}

// ErrUnknown is returned for a name that no secret has.
var ErrUnknown = errors.New("no such secret")

// Value resolves a secret. From now on its value is masked. The error does not
// contain it.
func (r *Registry) Value(ctx context.Context, name string) (string, error) {
	if r == nil {
		return "", ErrUnknown
	}
	r.mu.Lock()
	s, ok := r.secrets[name]
	failed, again := r.failed[name]
	r.mu.Unlock()
	if !ok {
		return "", ErrUnknown
	}
	value := s.value
	if s.url != "" {
		if again && r.cfg.Now().Sub(failed) < retryAfter {
			return "", fmt.Errorf("look up secret %s: failed less than %s ago", name, retryAfter)
		}
		var err error
		if value, err = r.lookUp(ctx, s); err != nil {
			r.remember(name, err)
			return "", fmt.Errorf("look up secret %s: %w", name, err)
		}
	}
	r.giveOut(name, value)
	return value, nil
}

func (r *Registry) remember(name string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[name] = r.cfg.Now()
}

// giveOut makes the value one that is masked.
func (r *Registry) giveOut(name, value string) {
	if value == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.given[name]
	if known && old == value {
		return
	}
	if known {
		r.older = append(r.older, old)
	}
	r.given[name] = value
	delete(r.failed, name)
	r.compile()
}

var errStatus = errors.New("the server refused")

func (r *Registry) lookUp(ctx context.Context, s Secret) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	base, err := url.Parse(strings.TrimRight(r.cfg.BaseURL, "/") + "/")
	if err != nil {
		return "", errors.New("the base URL is malformed")
	}
	ref, err := url.Parse(s.url)
	if err != nil {
		return "", errors.New("its URL is malformed")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.ResolveReference(ref).String(), nil)
	if err != nil {
		return "", errors.New("its URL is malformed")
	}
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	resp, err := r.cfg.HTTP.Do(req)
	if err != nil {
		return "", netcause.Of(err) // without the URL, which can hold a token
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", fmt.Errorf("%w: %s", errStatus, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxValue+1))
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	if len(body) > maxValue {
		return "", fmt.Errorf("the value is longer than %d bytes", maxValue)
	}
	return string(body), nil
}

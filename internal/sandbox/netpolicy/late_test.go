package netpolicy_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// tools are presets whose answers a test gives.
type tools map[string]chan answer

type answer struct {
	hosts []string
	err   error
}

func (w tools) expand(ctx context.Context, preset string) (entries []netpolicy.Entry, err error) {
	select {
	case a := <-w[preset]:
		for _, host := range a.hosts {
			entries = append(entries, netpolicy.Entry{Host: netpolicy.Host{Name: host}, From: "@" + preset})
		}
		return entries, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func late(t *testing.T) (tools, *netpolicy.Policy) {
	t.Helper()
	w := tools{"go": make(chan answer), "python": make(chan answer)}
	return w, policy(t, netpolicy.Config{Allow: []string{"listed.example", "@go", "@python"}, Deny: []string{"evil.example"}, Late: true, Expand: w.expand})
}

// decide makes a decision while the test goes on.
func decide(ctx context.Context, p *netpolicy.Policy, name string) <-chan netpolicy.Decision {
	made := make(chan netpolicy.Decision, 1)
	go func() { made <- p.Decide(ctx, netpolicy.Host{Name: name}, 443) }()
	return made
}

// needsPython makes a decision for which the answer of python is enough. With it n
// decisions ask that preset, and each gets the answer.
func needsPython(t *testing.T, w tools, p *netpolicy.Policy, n int) {
	t.Helper()
	made := decide(t.Context(), p, "pypi.example")
	synctest.Wait() // all ask
	for range n {
		w["python"] <- answer{hosts: []string{"pypi.example"}}
	}
	if d := <-made; !d.Allowed {
		t.Errorf("pypi.example: %+v", d)
	}
}

// complete checks that the list and both presets have given an entry each.
func complete(t *testing.T, p *netpolicy.Policy) {
	t.Helper()
	if entries := p.Entries(); len(entries) != 3 {
		t.Errorf("the entries are %v", entries)
	}
}

func TestADecisionWaitsForWhatItNeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := late(t)
		if !p.Decide(t.Context(), netpolicy.Host{Name: "listed.example"}, 443).Allowed || !p.Decide(t.Context(), netpolicy.Host{Name: "evil.example"}, 443).Final {
			t.Error("the lists do not decide by themselves")
		}
		needsBoth := decide(t.Context(), p, "other.example")
		needsPython(t, w, p, 2)
		synctest.Wait()
		select {
		case d := <-needsBoth:
			t.Errorf("other.example is decided before all have answered: %+v", d)
		default:
		}
		w["go"] <- answer{hosts: []string{"proxy.example"}}
		if d := <-needsBoth; d.Allowed || d.Why != "host other.example is not on the allow list" {
			t.Errorf("other.example: %+v", d)
		}
		if d := p.Decide(t.Context(), netpolicy.Host{Name: "another.example"}, 443); d.Allowed { // The user is not asked any more.
			t.Errorf("another.example: %+v", d)
		}
		complete(t, p)
	})
}

func TestAPresetThatFailedIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := late(t)
		for range 2 {
			refused := decide(t.Context(), p, "pypi.example")
			go func() { w["go"] <- answer{hosts: []string{"proxy.example"}, err: errors.New("go did not answer")} }()
			w["python"] <- answer{err: errors.New("pip did not answer")}
			if d := <-refused; d.Allowed || d.Final || d.Why != "host pypi.example is not on the allow list, and go did not answer; pip did not answer" {
				t.Errorf("before the answer: %+v", d)
			}
			if d := p.Decide(t.Context(), netpolicy.Host{Name: "proxy.example"}, 443); !d.Allowed { // It was listed beside the error.
				t.Errorf("proxy.example: %+v", d)
			}
		}
		needsPython(t, w, p, 1)
		complete(t, p)
	})
}

func TestADecisionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := late(t)
		ctx, cancel := context.WithCancel(t.Context())
		made := decide(ctx, p, "pypi.example")
		synctest.Wait()
		cancel()
		if d := <-made; d.Allowed {
			t.Errorf("pypi.example: %+v", d)
		}
	})
}

// Presets that are expanded before a decision are not asked for it, but for those that
// failed; their ports are known.
func TestPresetsThatWereExpandedAreNotAskedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	failure := errors.New("no answer yet")
	p := policy(t, netpolicy.Config{Allow: []string{"@go", "@python"}, Late: true, Expand: func(_ context.Context, preset string) ([]netpolicy.Entry, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[preset]++
		if preset == "go" {
			return []netpolicy.Entry{{Host: netpolicy.Host{Name: "go.example"}, Port: 4873}}, nil
		}
		return nil, failure
	}})
	p.Expand(t.Context())
	if !slices.Contains(p.Ports(), 4873) {
		t.Errorf("the ports are %v", p.Ports())
	}
	d := p.Decide(t.Context(), netpolicy.Host{Name: "other.example"}, 443)
	if want := "host other.example is not on the allow list, and no answer yet"; d.Allowed || d.Why != want {
		t.Errorf("Decide() = %+v, want %q", d, want)
	}
	if asked["go"] != 1 || asked["python"] != 2 {
		t.Errorf("asked %v", asked)
	}
}

// later is the error of a preset that answers after the wait for it has ended.
type later chan struct{}

func (later) Error() string               { return "no answer yet" }
func (l later) Answered() <-chan struct{} { return l }

// A preset that is not waited for any longer, and answers while others are waited for, is
// enough for a decision. Otherwise the decision has only the errors that are left.
func TestADecisionNeedsAPresetThatAnswersLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host    string
		python  error // how the other preset ends
		allowed bool
		why     string
	}{
		{host: "go.example", allowed: true},
		{"other.example", errors.New("pip is broken"), false, "host other.example is not on the allow list, and pip is broken"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, p := late(t)
			answered := make(later)
			made := decide(t.Context(), p, c.host)
			w["go"] <- answer{err: answered}
			synctest.Wait()
			select {
			case d := <-made:
				t.Fatalf("it did not wait for python: %+v", d)
			default:
			}
			close(answered)
			w["go"] <- answer{hosts: []string{"go.example"}}
			synctest.Wait()
			if c.python != nil {
				w["python"] <- answer{err: c.python}
			}
			if d := <-made; d.Allowed != c.allowed || d.Why != c.why {
				t.Errorf("%s: Decide() = %+v", c.host, d)
			}
		})
	}
}

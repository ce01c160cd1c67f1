// Package doctor finds out why ohgw does not work here: a list of checks, each
// with what it found, why, and the command that repairs it.
//
// A check is a function of a [World], which setup/inspect fills with the real
// one, so each is tested without it. This package prints nothing and repairs nothing.
// Invariants: a check never changes what it looks at; no text has a key; every
// failure says what to do next.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/fault"
)

// Verdict is what came of a check.
type Verdict string

// The verdicts, from good to bad. Skipped means that there is no verdict.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // it works, and the user should know
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped"
)

// Result is what a check found.
type Result struct {
	Check    string        `json:"check"`
	Verdict  Verdict       `json:"verdict"`
	Text     string        `json:"text"` // what is there, in a line
	Findings []Finding     `json:"findings"`
	Took     time.Duration `json:"-"`
}

// Finding is one thing that is wrong.
type Finding struct {
	Verdict Verdict `json:"verdict"` // Warning or Failed
	Text    string  `json:"text"`
	Cause   string  `json:"cause,omitempty"`
	Repair  string  `json:"repair,omitempty"` // a command, or what to do
}

// Check is one question.
type Check struct {
	Name string
	// Doing says what is going on meanwhile: "asking the keyring".
	Doing string
	// Needs are the checks before it whose failure makes this one pointless.
	Needs []string
	// Limit bounds how long it may take; 0: a little.
	Limit time.Duration
	Run   func(context.Context, *World) Result
}

// briefly is how long a check may take that names no limit. All of them
// together are to be done within a second.
const briefly = 5 * time.Second

// soon is how long a check may run before the user sees what takes so long.
const soon = 100 * time.Millisecond

// Checks lists all checks in the order of what depends on what. With live there is
// one that asks a model, which costs money.
func Checks(live bool) []Check {
	checks := []Check{
		{Name: "machine", Doing: "checking the machine", Run: checkMachine},
		{Name: "config", Doing: "reading the settings", Run: checkConfig},
		{Name: "paths", Doing: "checking directories", Run: checkPaths},
		{Name: "keyring", Doing: "opening the key store", Needs: []string{"config"}, Run: checkKeyStore},
		{Name: "profiles", Doing: "reading the profiles", Needs: []string{"config"}, Run: checkProfiles},
		{Name: "key", Doing: "checking the active profile's key", Needs: []string{"config", "profiles"}, Run: checkKey},
		{Name: "provider", Doing: "asking the provider for its models", Needs: []string{"config", "profiles", "key"}, Limit: 2 * ProviderPatience, Run: checkProvider},
		{Name: "port", Doing: "checking the port", Needs: []string{"config"}, Run: checkPort},
		{Name: "backend", Doing: "checking the agent backend", Needs: []string{"config"}, Run: checkBackend},
		{Name: "engine", Doing: "checking the shell", Needs: []string{"config"}, Run: checkEngine},
		{Name: "agents", Doing: "reading the agents", Needs: []string{"config", "profiles"}, Run: checkAgents},
		{Name: "browser", Doing: "looking for a browser", Needs: []string{"config", "backend"}, Run: checkBrowser},
		{Name: "sandbox", Doing: "trying to break out of the sandbox", Needs: []string{"config", "backend"}, Run: checkSandbox},
		{Name: "hooks", Doing: "looking at hooks", Needs: []string{"config", "backend"}, Limit: 2 * briefly, Run: checkHooks},
		{Name: "daemon", Doing: "querying the daemon", Needs: []string{"config"}, Run: checkDaemon},
		{Name: "guard", Doing: "checking access protection", Needs: []string{"config"}, Run: checkGuard},
	}
	if live {
		checks = append(checks, Check{
			Name: "live", Doing: "calling the model", Needs: []string{"config", "key", "backend", "guard"}, Limit: 2 * time.Minute, Run: checkLive,
		})
	}
	return checks
}

// Run runs checks, those that need nothing of each other at the same time.
// Report, which may be nil, gets each result in the order of the checks, and
// waiting is told which one takes longer than a moment.
func Run(ctx context.Context, w *World, checks []Check, waiting func(Check), report func(Result)) []Result {
	results := make([]Result, len(checks))
	done := make([]chan struct{}, len(checks))
	for i := range checks {
		done[i] = make(chan struct{})
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, c := range checks {
		wg.Go(func() { // ends with the check, which has a limit
			defer close(done[i])
			results[i] = c.after(ctx, w, func(name string) Verdict {
				at := slices.IndexFunc(checks, func(o Check) bool { return o.Name == name })
				if at < 0 || at >= i { // it is not among those that were asked for
					return OK
				}
				<-done[at]
				return results[at].Verdict
			})
		})
	}
	for i := range checks {
		timer := time.NewTimer(soon)
		select {
		case <-done[i]:
		case <-timer.C:
			if waiting != nil {
				waiting(checks[i])
			}
			<-done[i]
		}
		timer.Stop()
		if report != nil {
			report(results[i])
		}
	}
	return results
}

// after runs the check when those that it needs are done.
func (c Check) after(ctx context.Context, w *World, verdict func(string) Verdict) Result {
	for _, name := range c.Needs {
		if verdict(name) == Failed {
			return Result{Check: c.Name, Verdict: Skipped, Text: "not checked: fix " + name + " first", Findings: []Finding{}}
		}
	}
	limit := c.Limit
	if limit == 0 {
		limit = briefly
	}
	began := w.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := c.Run(ctx, w)
	r.Check, r.Took = c.Name, w.Now().Sub(began)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // on a busy machine that need not mean much
		for i := range r.Findings {
			r.Findings[i].late(c.Doing, limit)
		}
	}
	if r.Findings == nil {
		r.Findings = []Finding{} // an empty list in JSON
	}
	return r
}

// late reports how long the check has waited, in place of the words of Go.
func (f *Finding) late(doing string, limit time.Duration) {
	said := fmt.Sprintf("no answer within %.0f s", limit.Seconds())
	words := context.DeadlineExceeded.Error()
	if f.Text == words {
		f.Text, f.Cause, f.Repair = doing+": "+said, "this machine, or what was asked, is busy", "ohgw doctor"
	}
	f.Text = strings.ReplaceAll(f.Text, words, said)
	f.Cause = strings.ReplaceAll(f.Cause, words, said)
	if !strings.Contains(f.Text+f.Cause, said) {
		f.Cause = joinHints(f.Cause, said)
	}
}

// Worst is the worst verdict among results.
func Worst(results []Result) Verdict {
	worst := OK
	for _, r := range results {
		worst = worse(worst, r.Verdict)
	}
	return worst
}

func worse(a, b Verdict) Verdict {
	order := []Verdict{Skipped, OK, Warning, Failed}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

func fine(format string, args ...any) Result {
	return Result{Verdict: OK, Text: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Result {
	return Result{Verdict: Skipped, Text: fmt.Sprintf(format, args...)}
}

// with adds a finding.
func (r Result) with(f Finding) Result {
	r.Findings = append(r.Findings, f)
	r.Verdict = worse(r.Verdict, f.Verdict)
	if r.Verdict == f.Verdict && (r.Text == "" || f.Verdict == Failed) {
		r.Text = f.Text
	}
	return r
}

func (r Result) warn(text, cause, repair string) Result {
	return r.with(Finding{Verdict: Warning, Text: text, Cause: cause, Repair: repair})
}

func (r Result) fail(text, cause, repair string) Result {
	return r.with(Finding{Verdict: Failed, Text: text, Cause: cause, Repair: repair})
}

// failed is the result for an error that was made for people.
func failed(err error) Result {
	f := finding(err)
	return Result{}.fail(f.Text, f.Cause, f.Repair)
}

// finding reads an error that was made for people, or any other.
func finding(err error) Finding {
	f := Finding{Verdict: Failed, Text: err.Error(), Repair: "ohgw doctor --debug"}
	if told, ok := errors.AsType[*fault.Error](err); ok {
		f.Text, f.Repair = told.Msg, told.Hint
		if told.Err != nil {
			f.Cause = told.Err.Error()
		}
	}
	return f
}

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

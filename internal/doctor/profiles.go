package doctor

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/internal/profile"
)

// keyMissing is the code of a profile without a key.
const keyMissing = "key-missing"

// most is how many findings of one check are told.
const most = 5

// checkProfiles looks at OpenHands' profiles.
func checkProfiles(ctx context.Context, w *World) Result {
	if where := w.elsewhere(ctx); where != "" {
		return skip("the profiles are those of %s", where)
	}
	p, err := w.Profiles(ctx)
	if err != nil {
		return failed(err)
	}
	if n := w.remote(ctx); p.Count == 0 && n > 0 {
		return fine("%s in the agent-server, which stores them itself", plural(n, "profile"))
	}
	if p.Count == 0 {
		return Result{Verdict: OK}.warn("there is no LLM profile in "+p.Base, "", "ohgw profiles add NAME --model PROVIDER/MODEL, or ohgw serve --demo to try without")
	}
	r := fine("%s in %s", plural(p.Count, "profile"), p.Base)
	told, left := 0, 0
	for _, severity := range []profile.Severity{profile.Error, profile.Warning} {
		for _, problem := range p.Report.Problems {
			switch {
			case problem.Severity != severity:
			case problem.Code == keyMissing && p.Active != nil && problem.Profile == p.Active.Name: // check "key" tells
			case told == most:
				left++
			default:
				told++
				r = r.with(describe(problem, p.Active))
			}
		}
	}
	if left > 0 {
		r = r.warn("and "+plural(left, "more problem"), "", "ohgw profiles check")
	}
	return r
}

// describe makes a finding of a problem. Only the active profile is needed for
// ohgw to work; the others are for whoever asks for them.
func describe(p profile.Problem, active *ActiveProfile) Finding {
	subject := p.Profile
	if subject == "" {
		subject = p.Path
	}
	f := Finding{Verdict: Warning, Text: subject + ": " + p.Text, Repair: p.Repair}
	if p.Severity == profile.Error && active != nil && p.Profile == active.Name {
		f.Verdict = Failed
	}
	if f.Repair == "" {
		f.Repair = strings.TrimSpace("ohgw profiles check " + p.Profile)
	}
	return f
}

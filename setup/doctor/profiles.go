package doctor

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/profile"
)

// keyMissing is the code of a profile without a key.
const keyMissing = "key-missing"

// retired is the code of a profile whose model OpenHands no longer lists. Whether
// it still answers matters for the active one only.
const retired = string(canon.ReportRetired)

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
		if p.Add != "" {
			return Result{Verdict: OK}.warn("there is no LLM profile in "+p.Base+", and "+p.Variable+" has a key", "", p.Add)
		}
		return Result{Verdict: OK}.warn("there is no LLM profile in "+p.Base, "", "ohgw profiles add, which asks for provider, key and model; or without a key: ohgw chat --demo")
	}
	return p.tell(fine("%s in %s", plural(p.Count, "profile"), p.Base))
}

// tell adds the problems to a result, the worst first.
func (p *Profiles) tell(r Result) Result {
	told, left := 0, 0
	for _, severity := range []profile.Severity{profile.Error, profile.Warning, profile.Note} {
		for _, problem := range p.Report.Problems {
			switch {
			case problem.Severity != severity || !p.matters(problem):
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

// matters reports whether a problem is told here. The check "key" tells of the
// active profile's key, and notes are for those who ask for them.
func (p *Profiles) matters(problem profile.Problem) bool {
	active := p.Active != nil && problem.Profile == p.Active.Name
	switch {
	case problem.Code == keyMissing:
		return !active
	case problem.Severity == profile.Note:
		return active && problem.Code == retired
	}
	return true
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
	if p.Code == retired {
		f.Text, f.Repair = subject+": the model is retired: OpenHands does not list it any more", "ohgw profiles check --live "+p.Profile
	}
	if f.Repair == "" {
		f.Repair = strings.TrimSpace("ohgw profiles check " + p.Profile)
	}
	return f
}

package doctor

import (
	"cmp"
	"context"
	"strings"
)

// use is the command that activates a profile. With one profile only, it is that
// one.
func use(p Profiles) string {
	if len(p.Names) > 0 {
		return "ohgw profiles use " + p.Names[0]
	}
	return "ohgw profiles use NAME"
}

// checkKey looks whether the active profile has a key. It reads none.
func checkKey(ctx context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		return failed(err)
	}
	if where := w.elsewhere(ctx); where != "" {
		return skip("the profiles and keys are those of %s", where)
	}
	p, err := w.Profiles(ctx)
	switch {
	case err != nil:
		return failed(err)
	case s.Demo && p.Active == nil:
		return fine("the demo needs no key")
	case p.Count == 0 && w.remote(ctx) > 0:
		return skip("the agent-server holds the keys")
	case p.Count == 0:
		return skip("there is no profile")
	case p.Active == nil:
		return Result{Verdict: OK}.warn("no profile is active, so there is no model \"openhands\"", "", use(p))
	}
	a := p.Active
	switch {
	case a.KeyFrom != "":
		return fine("%s (%s) has its key: %s", a.Name, a.Model, a.KeyFrom)
	case a.NeedsNone != "":
		return fine("%s (%s) %s", a.Name, a.Model, a.NeedsNone)
	}
	why := "no key is stored, and the profile has none"
	if len(a.Variables) > 0 {
		why += ", and " + strings.Join(a.Variables, " and ") + " is not set"
	}
	if a.Withheld != "" {
		why = "the " + a.Withheld + " is only sent to that provider's hosts, and the profile has another base URL"
	}
	if a.Refused != "" {
		return Result{}.fail("the active profile "+a.Name+" ("+a.Model+") has no usable key", a.Refused, cmp.Or(a.Repair, "ohgw keys set "+a.Name))
	}
	return Result{}.fail("the active profile "+a.Name+" ("+a.Model+") has no key", why, "ohgw keys set "+a.Name)
}

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

// checkKeyStore asks the key store whether it works.
func checkKeyStore(ctx context.Context, w *World) Result {
	s, err := w.KeyStore(ctx)
	if err != nil {
		return failed(err)
	}
	r := fine("the %s has %s", s.Name, plural(s.Keys, "key"))
	if s.Plain > 0 { // that was chosen, and said when the keys were stored
		r.Text += ", not encrypted (OH_SECRET_KEY was not set): only you can read the file"
	}
	if s.Problem != nil {
		f := finding(s.Problem)
		f.Repair = strings.ReplaceAll(f.Repair, "NAME", w.named(ctx))
		// Without a key in it, other places may have all that are needed; check
		// "key" reports whether.
		if s.Keys > 0 {
			r = r.fail(f.Text, f.Cause, f.Repair)
		} else {
			r = r.warn(f.Text, f.Cause, f.Repair)
			r.Text = f.Text
		}
		if ctx.Err() != nil {
			return r
		}
	}
	if s.Exposed {
		r = r.fail("others can read "+s.Path, "replace keys that other users could read at their provider", "chmod 600 "+s.Path)
	}
	return r
}

// named is the name of the active profile, for commands; NAME if there is none.
func (w *World) named(ctx context.Context) string {
	if p, err := w.Profiles(ctx); err == nil && p.Active != nil {
		return p.Active.Name
	}
	return "NAME"
}

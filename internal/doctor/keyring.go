package doctor

import (
	"context"
	"strings"
)

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

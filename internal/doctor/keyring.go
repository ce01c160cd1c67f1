package doctor

import "context"

// checkKeyStore asks the key store whether it works.
func checkKeyStore(ctx context.Context, w *World) Result {
	s, err := w.KeyStore(ctx)
	if err != nil {
		return failed(err)
	}
	r := fine("the %s has %s", s.Name, plural(s.Keys, "key"))
	if s.Problem != nil {
		f := finding(s.Problem)
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
	if s.Plain > 0 {
		r = r.warn(plural(s.Plain, "key")+" in "+s.Path+" can be read by anyone who can read the file", "OH_SECRET_KEY was not set when they were stored", "export OH_SECRET_KEY=…, then ohgw keys set NAME --replace")
	}
	return r
}

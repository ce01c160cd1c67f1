package doctor

import (
	"context"
	"strings"
)

// checkBrowser looks for the Chromium of agents with browser_tool_set, which most
// agents do not have.
func checkBrowser(ctx context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		return failed(err)
	}
	if b, err := w.Backend(ctx); err == nil && !b.embedded() {
		return skip("the backend has the browser of its agents")
	}
	path, err := w.Browser()
	if err != nil {
		f := finding(err)
		if s.Browser == "" { // nobody has asked for one
			return skip("%s: agents with browser_tool_set do without it; %s", f.Text, f.Repair)
		}
		return Result{}.warn(f.Text, f.Cause, f.Repair)
	}
	out, err := w.Output(ctx, path, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case ctx.Err() != nil:
		return fine("%s; its version is not known: it did not start in time", path)
	case err != nil || version == "":
		cause := "it does not say its version"
		if err != nil {
			cause = err.Error()
		}
		return Result{}.warn(path+", the browser of agents, does not work", cause, "start it by hand to see why: "+path+" --version")
	}
	r := fine("%s, %s", version, path)
	if w.Root {
		return r.warn(r.Text+": as root it runs without its own sandbox", "Chromium has none for root", "run ohgw as another user, if agents with browser_tool_set are used")
	}
	return r
}

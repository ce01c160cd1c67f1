package doctor

import (
	"context"
	"fmt"
)

// checkDaemon asks the daemon that runs, if one does.
func checkDaemon(ctx context.Context, w *World) Result {
	d, err := w.Daemon(ctx)
	switch {
	case err != nil:
		return failed(err)
	case d == nil:
		return skip("no daemon is running; ohgw serve starts one")
	}
	r := fine("%s answers", d.URL)
	if d.PID != 0 {
		r = fine("%s answers (process %d)", d.URL, d.PID)
	}
	if d.Refused != nil {
		f := finding(d.Refused)
		return r.fail(f.Text, f.Cause, f.Repair)
	}
	if d.Status != "ok" {
		r = r.warn("the daemon is shutting down ("+d.Status+")", "", "wait a moment, then ohgw serve")
	}
	if d.BackendError != "" {
		r = r.fail("its agent backend is not available", d.BackendError, "start the agent-server again, or restart ohgw serve to choose another backend")
	}
	if d.Version != w.Version {
		r = r.warn(fmt.Sprintf("the daemon is ohgw %s, this program is %s", d.Version, w.Version), "", "restart the daemon to use the new version: Ctrl-C, then ohgw serve (or systemctl --user restart ohgw)")
	}
	return r
}

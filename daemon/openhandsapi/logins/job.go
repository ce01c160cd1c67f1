package logins

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
)

// job is one login.
type job struct {
	id, redirect string
	made         time.Time
	back         chan Return
	shown        chan struct{} // closed with the first page
	done         chan struct{}

	mu    sync.Mutex
	page  string
	tried catalogue.Tried
	err   error
}

// show sets the page that the person has to open.
func (j *job) show(page string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.page == ""
	j.page = page
	if first {
		close(j.shown)
	}
}

func (j *job) finish(tried catalogue.Tried, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tried, j.err = tried, err
	close(j.done)
}

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// address is the page, "" if there is none yet.
func (j *job) address() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.page
}

// report returns the login as an agent-server reports it: members without a value are
// left out.
func (j *job) report() map[string]any {
	over := j.over()
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string]any{"ok": true, "status": "pending", "job_id": j.id, "callback_ready": j.page != ""}
	if j.page != "" {
		out["status"], out["authorization_url"] = "authorizing", j.page
	}
	switch {
	case !over:
	case j.err != nil:
		out["ok"], out["status"] = false, "failed"
		out["error"], out["error_kind"] = j.err.Error(), kindOf(j.err)
	default:
		out["status"], out["tools"] = "succeeded", j.tried.Names()
		if j.tried.Result != nil {
			out["tool_result"] = j.tried.Result
		}
		if j.tried.Login != nil {
			out["oauth_state"] = j.tried.Login
		}
	}
	return out
}

func kindOf(err error) string {
	if errors.Is(err, errSlow) || errors.Is(err, errPerson) {
		return "timeout"
	}
	return "connection"
}

// failure is a login as it is told where a browser brought what cannot be used. The
// login itself goes on.
func (j *job) failure(status int) map[string]any {
	out := j.report()
	for _, name := range []string{"tools", "tool_result", "oauth_state"} {
		delete(out, name)
	}
	out["ok"], out["status"], out["error_kind"] = false, "failed", "connection"
	out["error"] = fmt.Sprintf("OAuth callback returned HTTP %d", status)
	return out
}

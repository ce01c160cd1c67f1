package cloud

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup/accounts"
)

// oneRun is a follower that has seen a whole run at its first look.
type oneRun []said

func (r oneRun) pause() time.Duration { return time.Hour }
func (r oneRun) close()               {}
func (r oneRun) next(context.Context) ([]said, event.Status, error) {
	return r, event.Finished, nil
}

// With --json, tail prints lines of one form, and a command that waits for a run prints
// one document.
func TestFollowingPrintsOneFormOfJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	run := oneRun{
		{ID: "1", Time: at, Source: event.SourceUser, Text: "go"},
		{ID: "2", Time: at, Source: event.SourceAgent, Text: "I look", Ran: true},
		{ID: "3", Time: at, Source: event.SourceAgent, Ran: true},
		{ID: "4", Source: event.SourceAgent, Text: "done", Final: true, Ran: true},
	}
	acc := accounts.Account{Server: servers.Server{Name: "work"}}
	conv := account.Conversation{ID: "11112222333344445555666677778888", State: account.StateRunning, WebURL: "https://example.com/1"}
	lines := `{"final":false,"id":"2","source":"agent","text":"I look","time":"2031-02-03T04:05:06Z"}
{"final":true,"id":"4","source":"agent","text":"done","time":null}
`
	end := `{
  "id": "11112222333344445555666677778888",
  "server": "work",
  "state": "running",
  "web_url": "https://example.com/1",
  "status": "finished",
  "answer": "done"
}
`
	for _, tt := range []struct {
		wait waitOptions
		json bool
		want string
	}{
		{waitOptions{Follow: true, runs: true, lines: true}, true, lines},
		{waitOptions{Follow: true, runs: true, lines: true}, false, "I look\ndone\n"},
		{waitOptions{Follow: true}, true, end},
		{waitOptions{Follow: true}, false, "I look\ndone\n"},
		{waitOptions{Wait: true}, true, end},
		{waitOptions{Wait: true}, false, "done\n"},
	} {
		var out strings.Builder
		o := &options{kit.OnServer{App: &kit.App{JSON: tt.json, Env: &kit.Env{Stdout: iostream.New(&out, false, nil), Now: func() time.Time { return at }}}}}
		err := o.watchFrom(t.Context(), acc, conv, tt.wait, run)
		if diff := cmp.Diff(tt.want, out.String()); err != nil || diff != "" {
			t.Errorf("%+v, json %t: %v, -want +got:\n%s", tt.wait, tt.json, err, diff)
		}
	}
}

// Until something of the run was seen, the status may be that of the run before.
func TestStatusOfTheRunBeforeEndsNoWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, status := range []event.Status{event.Finished, event.Failed, event.Stuck, event.Paused, event.Waiting} {
		for name, tt := range map[string]struct {
			see  []said
			runs bool
			late bool
			want bool
		}{
			"nothing was seen":             {want: false},
			"only the message was seen":    {see: []said{{Source: event.SourceUser, Text: "go"}}, want: false},
			"a call was seen":              {see: []said{{Source: event.SourceAgent, Ran: true}}, want: true},
			"a failure was seen":           {see: []said{{Source: event.SourceEnvironment, Failed: true, Text: "no"}}, want: true},
			"it was known to run":          {runs: true, want: true},
			"nothing was seen for so long": {late: true, want: true},
		} {
			r := &runSeen{until: now.Add(patience), ran: tt.runs}
			for _, s := range tt.see {
				r.see(s)
			}
			at := now
			if tt.late {
				at = r.until.Add(time.Second)
			}
			if got := r.ended(status, at); got != tt.want {
				t.Errorf("%s, %s: ended %v, want %v", status, name, got, tt.want)
			}
		}
		r := &runSeen{until: now.Add(patience)}
		if r.ended(event.Running, now) || !r.ended(status, now) {
			t.Errorf("%s: a run that was seen running did not end with it", status)
		}
	}
}

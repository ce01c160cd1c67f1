package cloud

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

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

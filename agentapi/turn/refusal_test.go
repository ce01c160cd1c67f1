package turn_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestAMessageThatAHookRefusedHasTheReason(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook *event.HookExecution
		want turn.Outcome
		why  string
	}{
		"on standard error":  {&event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true, Stderr: "not allowed"}, turn.Refused, "not allowed"},
		"in its decision":    {&event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true, Reason: "too long", Stderr: "x"}, turn.Refused, "too long"},
		"without a word":     {&event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true}, turn.Refused, "the hook gave no reason"},
		"with a key":         {&event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true, Reason: "sk-proj-abcdefghijklmnop"}, turn.Refused, "[redacted]"},
		"another message":    {&event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true, MessageID: "another"}, turn.Finished, ""},
		"one that lets pass": {&event.HookExecution{HookEventType: "UserPromptSubmit", Stderr: "fine"}, turn.Finished, ""},
		"one for something else": {
			&event.HookExecution{HookEventType: "SessionStart", Blocked: true, Stderr: "no"}, turn.Finished, "",
		},
	} {
		l := &log{}
		r := turn.NewReader(nil)
		read(t, r, []event.Event{
			l.snapshot(event.State{Status: event.Finished}), l.event(event.SourceHook, tt.hook),
			l.user("go"), l.status(event.Running), l.status(event.Finished), l.snapshot(event.State{Status: event.Finished}),
		})
		if res := r.Result(); !r.Done() || res.Outcome != tt.want || res.Refusal != tt.why {
			t.Errorf("%s: result = %+v, want %d with %q", name, res, tt.want, tt.why)
		}
	}
}

package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestARepeatedRequestIsALineOfProgress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value string
		want  []turn.Update
	}{
		{
			`{"attempt":2,"of":5,"seconds":16,"cause":"127.0.0.1:11434 refuses connections"}`,
			[]turn.Update{{
				Kind: turn.Progress, Text: "127.0.0.1:11434 refuses connections; attempt 2 of 5 in 16 s",
				Retry: &turn.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "127.0.0.1:11434 refuses connections"},
			}},
		},
		{
			`{"attempt":2,"of":2,"seconds":0.08,"cause":"it said sk-proj-abcdefghijklmnop\nand more"}`,
			[]turn.Update{{
				Kind: turn.Progress, Text: "it said [redacted] and more; attempt 2 of 2 in 0.1 s",
				Retry: &turn.Retry{Attempt: 2, Of: 2, Seconds: 0.08, Cause: "it said [redacted] and more"},
			}},
		},
		{
			`{"attempt":1,"of":5,"seconds":0,"cause":"a failed"}`,
			[]turn.Update{{Kind: turn.Progress, Text: "a failed; attempt 1 of 5 now", Retry: &turn.Retry{Attempt: 1, Of: 5, Cause: "a failed"}}},
		},
		{`"?"`, nil},
	}
	for _, tt := range tests {
		l := &log{}
		r := began(t, l)
		e := l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyRetry, Value: json.RawMessage(tt.value)})
		got, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.value, diff)
		}
		if e.Persisted() {
			t.Error("it is stored")
		}
	}
}

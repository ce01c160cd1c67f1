package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestAPhaseOfACallIsShownAndNotKept(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]turn.Update{
		`{"name":"reading","prompt_tokens":1925,"read_tokens":512}`: {{Kind: turn.Phase, Phase: &event.Phase{Name: "reading", Prompt: 1925, Read: 512}}},
		`{"name":"loading"}`: {{Kind: turn.Phase, Phase: &event.Phase{Name: "loading"}}},
		`[]`:                 nil,
	} {
		l := &log{}
		r := began(t, l)
		e := l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyPhase, Value: json.RawMessage(value)})
		got, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
		if e.Persisted() {
			t.Error("it is stored")
		}
	}
}

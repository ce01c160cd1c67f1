package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestARefusalIsALineOfProgressAndInTheResult(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := began(t, l)
	var lines []string
	for _, value := range []string{
		`{"access":"net","target":"api.example.com:443","why":"not on the allow list","allow":"net api.example.com","held":true}`,
		`{"access":"net","target":"api.example.com:443","why":"not on the allow list","allow":"net api.example.com"}`,
		`{"access":"net","target":"api.example.com:443","why":"not on the allow list","allow":"net api.example.com"}`,
		`{"access":"net","target":"granted.example.com:443","why":"not on the allow list","allow":"net granted.example.com","held":true}`,
		`{"access":"write","target":"/etc/hosts","why":"read-only\nhere"}`,
		`{"access":"net","target":"sk-proj-abcdefghijklmnop.example.com:443","why":"no","allow":"net sk-proj-abcdefghijklmnop.example.com"}`,
		`"?"`,
	} {
		e := l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyBlock, Value: json.RawMessage(value)})
		if e.Persisted() {
			t.Error("it is stored")
		}
		got, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range got {
			if u.Kind != turn.Progress || u.Block == nil {
				t.Errorf("update %+v", u)
			}
			lines = append(lines, u.Text)
		}
	}
	want := []string{
		"sandbox: waits up to 60 s for: ohgw sandbox allow net api.example.com",
		"sandbox: refused api.example.com:443 (not on the allow list)",
		"sandbox: waits up to 60 s for: ohgw sandbox allow net granted.example.com",
		"sandbox: refused write /etc/hosts (read-only here)",
		"sandbox: refused [redacted].example.com:443 (no)",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	blocked := []agentapi.Block{
		{Access: "net", Target: "api.example.com:443", Why: "not on the allow list", Allow: "net api.example.com"},
		{Access: "write", Target: "/etc/hosts", Why: "read-only here"},
		{Access: "net", Target: "[redacted].example.com:443", Why: "no"},
	}
	if diff := cmp.Diff(blocked, r.Result().Blocked); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestAFloodOfRefusalsIsBounded(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := began(t, l)
	for i := range 1000 {
		value, err := json.Marshal(event.Block{Access: "net", Target: strings.Repeat("x", i), Why: strings.Repeat("y", i)})
		if err != nil {
			t.Fatal(err)
		}
		updates, err := r.Add(l.event(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyBlock, Value: value}))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range updates {
			if n := len([]rune(u.Text)); n > 200 {
				t.Errorf("a line of %d characters", n)
			}
		}
	}
	if n := len(r.Result().Blocked); n == 0 || n > 100 {
		t.Errorf("%d refusals", n)
	}
}

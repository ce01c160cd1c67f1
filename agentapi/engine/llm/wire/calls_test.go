package wire_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

func TestCallsOfOneSlotAreToldApart(t *testing.T) {
	t.Parallel()
	type piece struct{ id, name, args string }
	for name, tt := range map[string]struct {
		pieces []piece
		want   []string
	}{
		"another id":                 {[]piece{{"a", "f", `{}`}, {"b", "f", `{}`}}, []string{"a f {}", "b f {}"}},
		"one id, other arguments":    {[]piece{{"0", "f", `{"x":1}`}, {"0", "f", `{"x":2}`}, {"0", "g", `{"x":2}`}}, []string{`0 f {"x":1}`, `0 f {"x":2}`, `0 g {"x":2}`}},
		"no id, other arguments":     {[]piece{{"", "f", `{"x":1}`}, {"", "f", `{"x":2}`}}, []string{`made1 f {"x":1}`, `made2 f {"x":2}`}},
		"a call that is told twice":  {[]piece{{"0", "f", `{"x":1}`}, {"0", "f", `{"x":1}`}}, []string{`0 f {"x":1}`}},
		"a name with each piece":     {[]piece{{"0", "f", `{"x":`}, {"0", "f", `{"y":`}, {"0", "f", `1}}`}, {"0", "f", ``}}, []string{`0 f {"x":{"y":1}}`}},
		"an id with the first piece": {[]piece{{"0", "f", ``}, {"", "", `{"x":`}, {"", "", `1}`}}, []string{`0 f {"x":1}`}},
	} {
		n := 0
		b := wire.NewBuilder(nil, func() string { n++; return fmt.Sprint("made", n) })
		for _, p := range tt.pieces {
			b.Call(0, p.id, p.name, p.args)
		}
		var got []string
		for _, c := range b.Message().ToolCalls {
			got = append(got, c.ID+" "+c.Name+" "+c.Arguments)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

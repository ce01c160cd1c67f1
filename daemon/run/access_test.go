package run_test

import (
	"testing"

	"github.com/ohgw/ohgw/daemon/run"
)

func TestWhoEntersWhat(t *testing.T) {
	t.Parallel()
	type want struct{ own, others, elsewhere bool }
	for name, tt := range map[string]struct {
		access run.Access
		want   want
	}{
		"a token":                  {run.Access{Token: "t"}, want{own: true, elsewhere: true}},
		"a token for some models":  {run.Access{Token: "t", Own: true}, want{own: true}},
		"a token that opens all":   {run.Access{Token: "t", All: true}, want{own: true, others: true, elsewhere: true}},
		"a person":                 {run.Access{Token: "t", Person: true}, want{own: true, others: true, elsewhere: true}},
		"nobody":                   {run.Access{Own: true}, want{}},
		"nobody without its limit": {run.Access{}, want{elsewhere: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (want{tt.access.Enters("t"), tt.access.Enters("u"), tt.access.Enters("")}); got != tt.want {
				t.Errorf("it enters %+v, want %+v", got, tt.want)
			}
		})
	}
}

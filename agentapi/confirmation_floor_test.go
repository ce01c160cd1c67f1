package agentapi_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
)

func TestWhichPoliciesMeetAMode(t *testing.T) {
	t.Parallel()
	const never, risky, always = agentapi.ConfirmNever, agentapi.ConfirmRisky, agentapi.ConfirmAlways
	for policy, met := range map[string][]agentapi.Confirmation{
		agentapi.PolicyNever:                              {"", never},
		agentapi.PolicyRisky:                              {"", never, risky},
		agentapi.PolicyAlways:                             {"", never, risky, always},
		`{"kind":"ConfirmRisky","threshold":"LOW"}`:       {"", never, risky},
		`{"kind":"ConfirmRisky","confirm_unknown":false}`: {"", never},
		`{"kind":"PolicyOfAPlugin"}`:                      {"", never},
		`null`:                                            {"", never},
		``:                                                {"", never},
	} {
		want := map[agentapi.Confirmation]bool{}
		for _, mode := range met {
			want[mode] = true
		}
		for _, mode := range []agentapi.Confirmation{"", never, risky, always} {
			if got := mode.MetBy(json.RawMessage(policy)); got != want[mode] {
				t.Errorf("%q is met by %s: %t", mode, policy, got)
			}
		}
	}
}

func TestTheStricterModeOfTwo(t *testing.T) {
	t.Parallel()
	order := []agentapi.Confirmation{"", agentapi.ConfirmNever, agentapi.ConfirmRisky, agentapi.ConfirmAlways}
	for i, one := range order {
		for j, other := range order {
			if got := one.Stricter(other); got != order[max(i, j)] {
				t.Errorf("%q and %q: %q", one, other, got)
			}
		}
	}
}

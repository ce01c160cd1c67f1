package inspect

import (
	"testing"

	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// A server that loads its model is there: doctor has nothing to repair, and fails for
// every other that cannot be used.
func TestAServerThatLoadsItsModelIsAWarning(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[modelcheck.Outcome]doctor.Verdict{
		modelcheck.Loading: doctor.Warning, modelcheck.BrokenDown: doctor.Failed, modelcheck.TimedOut: doctor.Failed, modelcheck.NotAsked: doctor.Warning,
	} {
		got := problem(&modelcheck.Listing{Host: "127.0.0.1:8080", Result: modelcheck.Result{Profile: "local", Outcome: outcome, Repair: "ohgw"}})
		if got == nil || got.Verdict != want || got.Repair == "" {
			t.Errorf("%s: problem = %+v", outcome, got)
		}
	}
	if got := problem(&modelcheck.Listing{Result: modelcheck.Result{Outcome: modelcheck.Answered}}); got != nil {
		t.Errorf("answered: %+v", got)
	}
}

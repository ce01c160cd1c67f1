package doctor

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/doctor"
)

func TestAMissingShellIsAFailedCheck(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, map[string]string{"OHGW_BACKEND": "embedded", "OHGW_ADDR": "127.0.0.1:0", "OH_PERSISTENCE_DIR": t.TempDir()})
	a.JSON = true
	if err := run(t.Context(), &options{App: a.App}); fault.CodeOf(err) != fault.Partly {
		t.Errorf("doctor: %v, want exit code 3", err)
	}
	var report reportJSON
	if err := json.Unmarshal([]byte(a.Out.String()), &report); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Checks, func(r doctor.Result) bool { return r.Check == "engine" && r.Verdict == doctor.Failed }) {
		t.Errorf("the check of the engine did not fail: %s", &a.Out)
	}
}

func TestAReportIsNotWrittenOverAFile(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	if err := run(t.Context(), &options{App: a.App, Bundle: t.TempDir()}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("doctor: %v, want a conflict", err)
	}
}

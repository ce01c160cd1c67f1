package status

import (
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestWithoutADaemonTheExitCodeSaysSo(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	if err := run(t.Context(), &options{App: a.App}); fault.CodeOf(err) != fault.Unreachable {
		t.Errorf("status: %v, want exit code 5", err)
	}
}

package overview

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
)

func TestAFreshInstallationHasItsNextSteps(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, map[string]string{"OHGW_BACKEND": "embedded", "OH_PERSISTENCE_DIR": t.TempDir()})
	if err := run(t.Context(), &options{App: a.App}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ohgw profiles add NAME", "ohgw serve --demo"} {
		if !strings.Contains(a.Out.String(), want) {
			t.Errorf("no %q in\n%s", want, &a.Out)
		}
	}
}

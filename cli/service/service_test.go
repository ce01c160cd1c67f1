package service

import (
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestTheUnitStartsThisProgram(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	a.Executable = func() (string, error) { return "/opt/bin/ohgw", nil }
	if err := runInstall(t.Context(), &installOptions{App: a.App, Print: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Out.String(), "/opt/bin/ohgw") {
		t.Errorf("the unit does not name the program:\n%s", &a.Out)
	}
}

func TestWithoutAServiceTheExitCodeSaysSo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there it prints what to type")
	}
	a := clitest.New(t, nil)
	if err := runStatus(t.Context(), &statusOptions{App: a.App}); fault.CodeOf(err) != fault.Unreachable {
		t.Errorf("status: %v, want exit code 5", err)
	}
	if err := runUninstall(t.Context(), &uninstallOptions{App: a.App}); err != nil {
		t.Errorf("uninstall: %v", err)
	}
}

package config

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
)

func TestSettingsAreShownWithTheirOrigin(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, map[string]string{"OHGW_ADDR": "127.0.0.1:7000"})
	if err := runShow(t.Context(), &showOptions{App: a.App}); err != nil {
		t.Fatal(err)
	}
	if want := "addr\t127.0.0.1:7000\tOHGW_ADDR\n"; !strings.Contains(a.Out.String(), want) {
		t.Errorf("no %q in\n%s", want, &a.Out)
	}
}

func TestThePathIsThatOfTheVariable(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/my.toml"
	a := clitest.New(t, map[string]string{"OHGW_CONFIG": file})
	if err := runPath(t.Context(), &pathOptions{App: a.App}); err != nil {
		t.Fatal(err)
	}
	if got := a.Out.String(); got != file+"\n" {
		t.Errorf("the path is %q, want %q", got, file)
	}
}

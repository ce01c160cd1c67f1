package connect

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestSettingsNameTheGateway(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, map[string]string{"OHGW_URL": "http://gateway.example:7000"})
	if err := run(t.Context(), &options{App: a.App, Client: "openai-python", Model: "openhands"}); err != nil {
		t.Fatal(err)
	}
	if want := "http://gateway.example:7000/v1"; !strings.Contains(a.Out.String(), want) {
		t.Errorf("no %q in\n%s", want, &a.Out)
	}
}

func TestClientsAreListed(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	if err := run(t.Context(), &options{App: a.App}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Out.String(), "\nzed\t") {
		t.Errorf("no zed in\n%s", &a.Out)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	for name, o := range map[string]*options{
		"an unknown client": {Client: "nothing", Model: "openhands"},
		"no model id":       {Client: "zed", Model: "a b"},
		"write and undo":    {Client: "zed", Model: "openhands", Write: true, Undo: true},
		"a dry run alone":   {Client: "zed", Model: "openhands", DryRun: true},
		"no client":         {Model: "openhands", Write: true},
	} {
		o.App = a.App
		if err := run(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

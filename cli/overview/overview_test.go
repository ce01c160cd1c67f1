package overview

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup/firstrun"
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

// An agent-server that the user has not named is offered beside LLMs, until the user has
// chosen it.
func TestAChosenAgentServerIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t, fakeserver.Options{})
	at := strings.TrimPrefix(server.URL, "http://")
	tests := map[string]struct {
		variables  map[string]string
		chosen     string // before
		wantGuided bool
	}{
		"found":                    {nil, "", true},
		"found and chosen":         {nil, server.URL, false},
		"another was chosen":       {nil, "http://127.0.0.1:7999", true},
		"chosen, but not used now": {map[string]string{"OHGW_BACKEND": "embedded"}, server.URL, true},
		"named":                    {map[string]string{"OHGW_AGENT_SERVER_URL": server.URL}, "", false},
		"named, and away":          {map[string]string{"OHGW_AGENT_SERVER_URL": "http://127.0.0.1:1"}, server.URL, true},
		"the backend is named":     {map[string]string{"OHGW_BACKEND": "agent-server"}, "", false},
		"OpenHands Cloud":          {map[string]string{"OHGW_BACKEND": "cloud"}, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := map[string]string{"OH_PERSISTENCE_DIR": t.TempDir()}
			maps.Copy(variables, tt.variables)
			a := clitest.New(t, variables)
			a.Usual = func(string) string { return at }
			a.StdinTTY, a.Stdout, a.Stderr = true, iostream.New(&a.Out, true, nil), iostream.New(&a.Err, true, nil)
			if tt.chosen != "" {
				if err := firstrun.ChooseServer(t.Context(), a.Setup(), tt.chosen); err != nil {
					t.Fatal(err)
				}
			}
			var opened []bool
			if err := run(t.Context(), &options{a.App, func(_ context.Context, guided bool) error { opened = append(opened, guided); return nil }}); err != nil {
				t.Fatal(err)
			}
			if want := []bool{tt.wantGuided}; !slices.Equal(opened, want) {
				t.Errorf("the chat was opened %v (guided), want %v; shown:\n%s", opened, want, &a.Out)
			}
		})
	}
}

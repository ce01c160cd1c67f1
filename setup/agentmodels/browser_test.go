package agentmodels_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestAnAgentThatWantsTheBrowserIsNamedWhereThereIsNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".openhands/profiles/fast.json":         fastProfile,
		".openhands/agent-profiles/helper.json": strings.Replace(recipe, `"terminal"`, `"browser_tool_set"`, 1),
		".agents/agents/web.md":                 "---\nname: web\ndescription: Reads.\ntools: [terminal, browser_tool_set]\n---\n",
		".agents/agents/shell.md":               "---\nname: shell\ndescription: Runs.\ntools: [terminal]\n---\n",
	})
	entries, problems, err := p.Read(t.Context())
	if err != nil || len(entries) != 3 || len(problems) > 0 {
		t.Fatalf("entries = %+v, problems %+v, error %v", entries, problems, err)
	}
	probed := func() (list []definition.Problem) {
		for _, e := range entries {
			for _, q := range p.Probe(t.Context(), e) {
				q.Path = ""
				list = append(list, q)
			}
		}
		return list
	}
	if got := probed(); len(got) > 0 {
		t.Errorf("problems with a browser: %+v", got)
	}
	p.browser = fault.New("there is none", "install one: x", nil)
	const msg = "it has browser_tool_set, and there is none"
	want := []definition.Problem{{Agent: "helper", Msg: msg, Hint: "install one: x"}, {Agent: "web", Line: 4, Msg: msg, Hint: "install one: x"}}
	if diff := cmp.Diff(want, probed()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

package profile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
)

func TestTheActiveRouterIsReadAsOpenHandsReadsIt(t *testing.T) {
	t.Parallel()
	const none, active = "\n  \"active_meta_profile\": null", "\n  \"active_meta_profile\": \"router\""
	classes := &profile.Router{Name: "router", Classifier: "work", Classes: []profile.Class{{"Révision", "work"}, {"all else", "cheap"}, {"x", "work"}}}
	for name, tt := range map[string]struct {
		metas map[string]string
		edits []string
		want  *profile.Router
		err   string
	}{
		"none":               {map[string]string{"router": router}, nil, nil, ""},
		"classes":            {map[string]string{"router": router}, []string{none, active}, classes, ""},
		"the name of a file": {map[string]string{"router": router}, []string{none, strings.Replace(active, "router", "router.json", 1)}, classes, ""},
		"a prompt":           {map[string]string{"router": `{"classifier_model":"c","prompt_template":"{{instance_text}} of {{ model_table }}","model_table":"T"}`}, []string{none, active}, &profile.Router{Name: "router", Classifier: "c", Template: "{{instance_text}} of {{ model_table }}", Table: "T"}, ""},
		"gone":               {map[string]string{"other": router}, []string{none, active}, nil, `"router" does not exist`},
		"gone, with a copy": {nil, []string{none, active, `"meta_profile": null,
    "meta_profile_llms": {}`, inline}, &profile.Router{Name: "router", Classifier: "work", Classes: []profile.Class{{"a", "work"}}}, ""},
		"no JSON":             {map[string]string{"router": `{`}, []string{none, active}, nil, `"router"`},
		"a list of no object": {map[string]string{"router": `{"classifier_model":"c","classes":[3]}`}, []string{none, active}, nil, `"router"`},
		"both":                {map[string]string{"router": `{"classifier_model":"c","classes":[{"description":"d","model":"m"}],"prompt_template":"{{instance_text}}"}`}, []string{none, active}, nil, "both classes"},
	} {
		got, err := newMeta(t, tt.metas, tt.edits...).ActiveRouter()
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

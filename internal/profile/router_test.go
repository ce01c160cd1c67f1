package profile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/routing"
)

func TestTheActiveRouterIsReadAsOpenHandsReadsIt(t *testing.T) {
	t.Parallel()
	const none, active = "\n  \"active_meta_profile\": null", "\n  \"active_meta_profile\": \"router\""
	classes := &routing.Router{Name: "router", Classifier: "work", Classes: []routing.Class{class("Révision", "work"), class("all else", "cheap"), class("x", "work")}}
	for name, tt := range map[string]struct {
		metas map[string]string
		edits []string
		want  *routing.Router
		err   string
	}{
		"none":               {map[string]string{"router": router}, nil, nil, ""},
		"classes":            {map[string]string{"router": router}, []string{none, active}, classes, ""},
		"the name of a file": {map[string]string{"router": router}, []string{none, strings.Replace(active, "router", "router.json", 1)}, classes, ""},
		"a prompt":           {map[string]string{"router": `{"classifier_model":"c","prompt_template":"{{instance_text}} of {{ model_table }}","model_table":"T"}`}, []string{none, active}, &routing.Router{Name: "router", Classifier: "c", Template: "{{instance_text}} of {{ model_table }}", Table: "T"}, ""},
		"gone":               {map[string]string{"other": router}, []string{none, active}, nil, `"router" does not exist`},
		"gone, with a copy": {nil, []string{none, active, `"meta_profile": null,
    "meta_profile_llms": {}`, inline}, &routing.Router{Name: "router", Classifier: "work", Classes: []routing.Class{class("a", "work")}}, ""},
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

func class(description, profile string) routing.Class {
	return routing.Class{Description: description, Profile: profile}
}

func TestARouterIsFoundAsAnAgentOfOpenHandsFindsIt(t *testing.T) {
	t.Parallel()
	const copied = `{"classifier_model":"c","classes":[{"description":"d","model":"m"}]}`
	of := func(name, classifier string) *routing.Router {
		r := &routing.Router{Name: name, Classifier: classifier}
		if classifier == "c" {
			r.Classes = []routing.Class{class("d", "m")}
		}
		return r
	}
	files := map[string]string{"b": `{"classifier_model":"of b"}`, "a-b": `{"classifier_model":"of a-b"}`, "torn": `{`}
	for name, tt := range map[string]struct {
		metas         map[string]string
		named, inline string
		want          *routing.Router
		err           string
	}{
		"by its name":                     {files, "b", copied, of("b", "of b"), ""},
		"by the name of its file":         {files, "b.json", "", of("b", "of b"), ""},
		"gone, with a copy":               {files, "gone", copied, of("gone", "c"), ""},
		"gone":                            {files, "gone", "", nil, `"gone" does not exist; there are: a-b, b, torn`},
		"gone, and there is none":         {nil, "gone", "", nil, `"gone" does not exist`},
		"torn, with a copy":               {files, "torn", copied, nil, `"torn"`},
		"a bad name":                      {files, "../b", copied, nil, `"../b"`},
		"a copy alone":                    {files, "", copied, of("", "c"), ""},
		"no name":                         {files, "", "", of("a-b", "of a-b"), ""},
		"no name, and there is none":      {nil, "", "", nil, "there is none"},
		"a copy that OpenHands refuses":   {files, "", `{"classes":[]}`, nil, "classifier_model"},
		"a copy that is null":             {files, "", `null`, of("a-b", "of a-b"), ""},
		"no name, and the first is torn":  {map[string]string{"a": "{", "b": `{"classifier_model":"of b"}`}, "", "", nil, `"a"`},
		"a copy that is not JSON":         {files, "", `{`, nil, "of the agent"},
		"a file whose name cannot be one": {map[string]string{"-a": `{"classifier_model":"x"}`}, "", "", nil, "there is none"},
	} {
		got, err := newMeta(t, tt.metas).Router(tt.named, []byte(tt.inline))
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

package shape_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// The places and words are those of OpenHandsAgentSettings and ConversationSettings of OpenHands
// 1.58.2. The field is the path in the file.
func TestWhatIsRefusedIsAtPydanticsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		form   *shape.Object
		value  string
		fields []string
		want   string
	}{
		{shape.LLMObject(), `{"model":"m","num_retries":"x"}`, []string{"o.num_retries"}, `[{"type":"int_parsing","loc":["num_retries"],` +
			`"msg":"Input should be a valid integer, unable to parse string as an integer"}]`},
		{shape.LLMObject(), `{"model":"m","stream":null}`, []string{"o.stream"}, `[{"type":"bool_type","loc":["stream"],"msg":"Input should be a valid boolean"}]`},
		{shape.LLMObject(), `{"model":"m","api_mode":"x"}`, []string{"o.api_mode"}, `[{"type":"literal_error","loc":["api_mode"],` +
			`"msg":"Input should be 'auto', 'chat' or 'responses'"}]`},
		{shape.LLMObject(), `{"model":"m","extra_headers":{"a":1,"b":"c"}}`, []string{"o.extra_headers.a"}, `[{"type":"string_type","loc":["extra_headers","a"],` +
			`"msg":"Input should be a valid string"}]`},
		{shape.LLMObject(), `{"model":"m","capability_overrides":{"a":2}}`, []string{"o.capability_overrides.a", "o.capability_overrides.a"}, `[` +
			`{"type":"bool_parsing","loc":["capability_overrides","a","bool"],"msg":"Input should be a valid boolean, unable to interpret input"},` +
			`{"type":"string_type","loc":["capability_overrides","a","str"],"msg":"Input should be a valid string"}]`},
		{shape.ServerObject(), `{"url":"u","auth":{"strategy":"basic"}}`, []string{"o.auth.username"}, `[{"type":"missing","loc":["auth","basic","username"],` +
			`"msg":"Field required"}]`},
		{shape.ServerObject(), `{"url":"u","auth":{"strategy":"x"}}`, []string{"o.auth.strategy"}, `[{"type":"union_tag_invalid","loc":["auth"],` +
			`"msg":"Input tag 'x' found using 'strategy' does not match any of the expected tags: 'none', 'api_key', 'bearer', 'basic', 'header', 'oauth2'"}]`},
		{shape.ConversationSettings(), `{"container_memory":"x"}`, []string{"o.container_memory"}, `[{"type":"string_pattern_mismatch","loc":["container_memory"],` +
			`"msg":"String should match pattern '^\\d+(\\.\\d+)? ?[kKmMgGtTpP]?[iI]?[bB]?$'"}]`},
		{shape.ConversationSettings(), `{"max_iterations":1e30}`, []string{"o.max_iterations"}, `[{"type":"int_parsing_size","loc":["max_iterations"],` +
			`"msg":"Unable to parse input string as an integer, exceeded maximum size"}]`},
		{shape.ConversationSettings(), `{"max_iterations":"1_000","container_cpus":"1_0.5"}`, nil, `[]`},
		{shape.ConversationSettings(), `{"container_cpus":"inf","max_iterations":10000000000000000000}`, nil, `[]`},
		// OpenHands accepts this one, writes null, and does not read the file any more.
		{shape.LLMObject(), `{"model":"m","retry_multiplier":"inf"}`, []string{"o.retry_multiplier"}, `[{"type":"finite_number","loc":["retry_multiplier"],` +
			`"msg":"Input should be a finite number"}]`},
		{shape.LLMObject(), `{"model":"m","temperature":[]}`, []string{"o.temperature"}, `[{"type":"float_type","loc":["temperature"],"msg":"Input should be a valid number"}]`},
		{shape.LLMObject(), `{"model":"m","timeout":-5}`, []string{"o.timeout", "o.stream_idle_timeout"}, `[` +
			`{"type":"greater_than_equal","loc":["timeout"],"msg":"Input should be greater than or equal to 0"},` +
			`{"type":"greater_than_equal","loc":["stream_idle_timeout"],"msg":"Input should be greater than or equal to 0"}]`},
		{shape.LLMObject(), `{"model":"m","api_key":5}`, []string{"o.api_key", "o.api_key"}, `[` +
			`{"type":"string_type","loc":["api_key","str"],"msg":"Input should be a valid string"},` +
			`{"type":"string_type","loc":["api_key","lax-or-strict[lax=json-or-python[json=function-after[SecretStr(), str],python=union[is-instance[SecretStr],function-after[SecretStr(), str]]],strict=json-or-python[json=function-after[SecretStr(), str],python=union[is-instance[SecretStr],function-after[SecretStr(), str]]]]"],"msg":"Input should be a valid string"}]`},
		{shape.LLMObject(), `{"model":"m","fallback_strategy":5}`, []string{"o.fallback_strategy"}, `[{"type":"model_attributes_type","loc":["fallback_strategy"],` +
			`"msg":"Input should be a valid dictionary or object to extract fields from"}]`},
		{shape.LLMObject(), `{"model":"m","fallback_strategy":{"fallback_llms":["a",5]}}`, []string{"o.fallback_strategy.fallback_llms.1"}, `[{"type":"string_type",` +
			`"loc":["fallback_strategy","fallback_llms",1],"msg":"Input should be a valid string"}]`},
		{shape.LLMObject(), `{"model":"m","fallback_strategy":{}}`, []string{"o.fallback_strategy.fallback_llms"}, `[{"type":"missing",` +
			`"loc":["fallback_strategy","fallback_llms"],"msg":"Field required"}]`},
		{shape.LLMObject(), `{"model":"m","fallback_strategy":{"fallback_llms":["a"],"more":1},"timeout":null}`, nil, `[]`},
	} {
		doc, err := jsonedit.Parse([]byte(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		_, faults := shape.Reader{Now: time.Now}.Read(tt.form, doc.Root())
		var fields []string
		for _, f := range faults {
			fields = append(fields, f.Field("o"))
		}
		if diff := cmp.Diff(short(t, tt.want), shown(t, faults)); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", tt.value, diff)
		}
		if diff := cmp.Diff(tt.fields, fields); diff != "" {
			t.Errorf("the fields of %s (-want +got):\n%s", tt.value, diff)
		}
	}
}

// TestValuesThatGoCannotHold reads numbers of which the nearest is kept, and a member that has
// the value of another one.
func TestValuesThatGoCannotHold(t *testing.T) {
	t.Parallel()
	doc, err := jsonedit.Parse([]byte(`{"model":"m","seed":-99999999999999999999,"num_retries":99999999999999999999,"top_k":"inf","timeout":60,` +
		`"fallback_strategy":{"fallback_llms":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	llm, faults := shape.Reader{Now: time.Now}.Read(shape.LLMObject(), doc.Root())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, want := range map[string]string{
		"seed": "-9223372036854775808", "num_retries": "9223372036854775807", "top_k": "null", "stream_idle_timeout": "60", "fallback_strategy": "",
	} {
		if got := string(llm.Raw(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// fault is what files and their API show of a fault.
type fault struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
}

func shown(t *testing.T, faults []pydantic.Fault) []fault {
	t.Helper()
	data, err := json.Marshal(append([]pydantic.Fault{}, faults...))
	if err != nil {
		t.Fatal(err)
	}
	return short(t, string(data))
}

func short(t *testing.T, data string) (list []fault) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

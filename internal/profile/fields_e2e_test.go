//go:build e2e

package profile_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// sdkFields tells of each field of the real LLM class whether it takes each of
// these values, and what it makes of it.
const sdkFields = `
import json, logging, os, sys, warnings
os.environ["ALLOW_SHORT_CONTEXT_WINDOWS"] = "1"
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.llm.llm import LLM
out = {}
for name in LLM.model_fields:
    if name in ("fallback_strategy", "retry_listener", "custom_tokenizer"):
        continue
    out[name] = []
    for text in json.load(open(sys.argv[1])):
        try:
            value = getattr(LLM.model_validate({"model": "x", name: json.loads(text)}), name)
            if hasattr(value, "get_secret_value"):
                value = value.get_secret_value()
            out[name].append([True, json.dumps(value)])
        except Exception:
            out[name].append([False, ""])
print("RESULT" + json.dumps(out))
`

// Every field of the SDK is known, refuses the same values and reads the others
// in the same way.
func TestTheSDKReadsFieldsTheSame(t *testing.T) {
	values := []string{
		"null", "true", "false", "0", "1", "-1", "5", "1.0", "1.5", "1e3", "-0.0", "1.0e2", `"5"`, `" 5 "`, `"5.0"`, `"5.5"`, `"5."`, `".5"`,
		`"1_000"`, `"1__0"`, `"_1"`, `"1_"`, `"0x10"`, `"1e3"`, `"+5"`, `"-0"`, `"1 000"`, `"abc"`, `""`, `" "`, `"true"`, `"YES"`, `"off"`, `" on "`, `"T"`,
		`"nan"`, "[]", `[1]`, "{}", `{"a":"b"}`, `{"a":1}`, `{"a":2}`, `{"a":true}`, `{"a":"b","c":null}`, `{"a":[]}`, "NaN", "2", "0.5",
		`"low"`, `"auto"`, `"chat"`, `"concise"`, `"openai"`, `"subscription"`, `"api_key"`, `"**********"`, `"\u00a05"`, "12345678901234567",
	}
	dir := t.TempDir()
	content, err := json.Marshal(values)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "values"), content, 0o600))
	var theirs map[string][][2]any
	must(t, json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, sdkFields, "values")), &theirs))
	compared := 0
	for name, outcomes := range theirs {
		for i, value := range values {
			src := fmt.Sprintf(`{"model":"x",%q:%s}`, name, value)
			if name == "model" {
				src = fmt.Sprintf(`{"model":%s}`, value)
			}
			s := newStore(t, map[string]string{"profiles/a.json": src})
			p, err := s.Load("a")
			// (A connection that is not there is no question of the field.)
			if taken := outcomes[i][0].(bool); taken != (err == nil) && name != "provider_connection_id" {
				t.Errorf("%s = %s: the SDK takes it: %v; we say %v", name, value, taken, err)
				continue
			}
			if err != nil || !outcomes[i][0].(bool) {
				continue
			}
			if ours, ok := ourValue(t, p, name); ok && !sameJSON(t, ours, outcomes[i][1].(string)) {
				t.Errorf("%s = %s: the SDK reads %s, we %s", name, value, outcomes[i][1], ours)
			}
			compared++
		}
	}
	t.Logf("%d fields, %d values read by both", len(theirs), compared)
}

// ourValue finds the field in the LLM by its JSON name.
func ourValue(t *testing.T, p *profile.Profile, name string) (string, bool) {
	t.Helper()
	if name == "api_key" {
		out, err := json.Marshal(p.LLM.APIKey.Reveal())
		must(t, err)
		return strings.Replace(string(out), `""`, "null", 1), true
	}
	v := reflect.ValueOf(p.LLM)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == name {
			out, err := json.Marshal(v.Field(i).Interface())
			must(t, err)
			return string(out), true
		}
	}
	return "", false
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	must(t, json.Unmarshal([]byte(a), &x))
	must(t, json.Unmarshal([]byte(b), &y))
	if m, ok := x.(float64); ok {
		n, ok := y.(float64)
		return ok && math.Abs(m-n) <= math.Abs(m)*1e-12
	}
	return reflect.DeepEqual(x, y)
}

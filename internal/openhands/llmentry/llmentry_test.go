package llmentry_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// members are the members of an LLM with their values, by their names in JSON.
func members(l llmentry.LLM) map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" {
			out[name] = v.Field(i).Interface()
		}
	}
	return out
}

// The table of package shape and the type are two views of one object.
func TestTheTableHasTheSameMembersAndDefaults(t *testing.T) {
	t.Parallel()
	ours := members(llmentry.Default(""))
	for _, f := range append(shape.LLM(), shape.LLMNewer()...) {
		value, has := ours[f.Name]
		delete(ours, f.Name)
		if !has {
			t.Errorf("the type has no member %s", f.Name)
			continue
		}
		if f.Kind == shape.SecretKind || f.Kind == shape.FreeKind {
			continue // nothing shows them
		}
		var want any
		fallback, _ := f.Read(jsonedit.Value{})
		if err := json.Unmarshal(fallback, &want); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(written, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s, in the table %s", f.Name, written, fallback)
		}
	}
	for _, name := range shape.LLMIgnored() {
		delete(ours, name)
	}
	if len(ours) > 0 {
		t.Errorf("the table does not have %v", ours)
	}
}

func TestJSONHasNoSecretAndReadsTheSame(t *testing.T) {
	t.Parallel()
	const key = "s3cret-0123456789"
	l, err := llmentry.Read([]byte(strings.ReplaceAll(`{"model":"openai/a<b&c","base_url":"","api_key":"S","aws_access_key_id":"S","aws_secret_access_key":"S",
		"aws_session_token":"S","extra_headers":{"X-Key":"S"},"litellm_extra_body":{"user_key":"S"},"timeout":7,"seed":null,"schema_version":1}`, "S", key)))
	if err != nil {
		t.Fatal(err)
	}
	written, err := l.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{key, "REDACTED", `"api_key":`, "headers", "schema_version", `\u003c`} {
		if strings.Contains(string(written), bad) {
			t.Errorf("the JSON has %s: %s", bad, written)
		}
	}
	again, err := llmentry.Read(written)
	if err != nil {
		t.Fatal(err)
	}
	rewritten, err := again.MarshalJSON()
	if err != nil || string(rewritten) != string(written) {
		t.Errorf("%s became %s (%v)", written, rewritten, err)
	}
	if again.BaseURL == nil || *again.BaseURL != "" || again.Seed != nil || again.Whole() != 7 {
		t.Errorf("base_url %v, seed %v, timeout %v", again.BaseURL, again.Seed, again.Whole())
	}
	if shown := fmt.Sprintf("%v %+v %#v %v", l, l, l, []any{&l}); strings.Contains(shown, key) {
		t.Errorf("shown: %s", shown)
	}
}

func TestEverySecretIsKnown(t *testing.T) {
	t.Parallel()
	var l llmentry.LLM
	for _, field := range []string{llmentry.FieldAPIKey, llmentry.FieldAWSAccessKeyID, llmentry.FieldAWSSecretAccessKey, llmentry.FieldAWSSessionToken} {
		*l.Secret(field) = hidden.NewText("key of " + field)
	}
	if l.Secret("model") != nil {
		t.Error("model is a secret")
	}
	l.ExtraHeaders = map[string]hidden.Text{"Authorization": hidden.NewText("Bearer header")}
	l.ExtraBody = hidden.New(map[string]json.RawMessage{"k": json.RawMessage(`"body"`), "n": json.RawMessage("1")})
	all := strings.Join(l.Secrets(), "|")
	for _, want := range []string{"key of api_key", "key of aws_access_key_id", "key of aws_secret_access_key", "key of aws_session_token", "|header|", "|body"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among the secrets", want)
		}
	}
}

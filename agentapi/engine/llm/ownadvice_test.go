package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestAnLLMWithoutAProfileIsAdvisedWithoutOne lets an LLM that came with a request fail in
// every way: no command changes it.
func TestAnLLMWithoutAProfileIsAdvisedWithoutOne(t *testing.T) {
	t.Parallel()
	type failing struct {
		name, members string
		reply         llmtest.Reply
		member        string // of llm, that the advice names
	}
	member := map[llmtest.Class]string{
		llmtest.ContextClass: "", llmtest.CreditClass: "llm.api_key", llmtest.RateClass: "llm.model", llmtest.KeyClass: "llm.api_key",
		llmtest.ModelClass: "llm.model", llmtest.TimeoutClass: "llm.base_url", llmtest.OverloadClass: "llm.base_url", llmtest.RequestClass: "llm.model",
	}
	var all []failing
	for _, f := range llmtest.Failures() {
		all = append(all, failing{f.Name, "", f.Reply(), member[f.Class]})
	}
	page := http.Header{"Content-Type": {"text/html"}}
	all = append(all,
		failing{"a page", "", llmtest.Reply{Status: http.StatusBadGateway, Header: page, Body: "<html><body>Bad</body></html>"}, "llm.base_url"},
		failing{"a redirect", "", llmtest.Reply{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://elsewhere.invalid/"}}}, "llm.base_url"},
		failing{"no method", "", llmtest.Reply{Status: http.StatusMethodNotAllowed, Body: "{}"}, "llm.base_url"},
		failing{"no server", `"base_url":"http://127.0.0.1:1"`, llmtest.Reply{}, "llm.base_url"},
		failing{"no key", `"base_url":null,"api_key":null`, llmtest.Reply{}, "llm.api_key"},
		failing{"a key that was not sent", `"api_key":null`, llmtest.Reply{Status: http.StatusUnauthorized, Body: `{"error":{"message":"no key"}}`}, "llm.api_key"},
	)
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.On(llmtest.Model("test"), f.reply)
			members := f.members
			if !strings.Contains(members, "base_url") {
				members = strings.TrimPrefix(members+`,"base_url":"`+fake.URL+`"`, ",")
			}
			_, err := ask(t, newModel(t, llm.Config{Profile: profile(t, "openai/test", `"num_retries":0,`+members)}))
			detail := failure(t, err).Detail
			if strings.Contains(detail, "ohgw keys") || strings.Contains(detail, "ohgw profiles") || strings.Contains(detail, "PROFILE") || strings.Contains(detail, "  ") {
				t.Errorf("advice of profiles: %s", detail)
			}
			if !strings.Contains(detail, f.member) || f.member != "" && !strings.Contains(detail, "switch_llm") {
				t.Errorf("%q is not in %s", f.member, detail)
			}
		})
	}
}

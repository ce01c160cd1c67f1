package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// What providers say differs; what it means decides what is done: a context
// that is full is condensed, an empty account is not asked again.
func TestFailuresOfAllProvidersHaveTheirClass(t *testing.T) {
	t.Parallel()
	type class struct {
		code, kind string
		tries      int
		next       string // in the detail
	}
	want := map[llmtest.Class]class{
		llmtest.ContextClass:  {llm.CodeContextWindow, "agent_action", 1, "new conversation"},
		llmtest.CreditClass:   {llm.CodeRateLimit, "quota", 1, "ohgw keys set mine --replace."},
		llmtest.RateClass:     {llm.CodeRateLimit, "rate_limit", 2, "ohgw profiles use"},
		llmtest.KeyClass:      {llm.CodeAuthentication, "auth", 1, "ohgw keys set mine --replace"},
		llmtest.ModelClass:    {llm.CodeNotFound, "config", 1, "ohgw profiles show mine"},
		llmtest.TimeoutClass:  {llm.CodeTimeout, "transient", 2, "ohgw profiles show mine"},
		llmtest.OverloadClass: {llm.CodeUnavailable, "transient", 2, "ohgw profiles show mine"},
		llmtest.RequestClass:  {llm.CodeBadRequest, "config", 1, "ohgw profiles show mine"},
	}
	for _, f := range llmtest.Failures() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.On(llmtest.Model("test"), f.Reply())
			p := profile(t, "openai/test", `"num_retries":2,"base_url":"`+fake.URL+`"`)
			_, err := ask(t, newModel(t, llm.Config{Profile: p, Name: "mine"}))
			failed, want := failure(t, err), want[f.Class]
			if f.Class == llmtest.ModelClass && f.Status != http.StatusNotFound {
				want.code = llm.CodeBadRequest // as upstream has it
			}
			if failed.Code != want.code || failed.Classification.Kind != want.kind {
				t.Errorf("code = %s, classification %+v, want %+v\n%s", failed.Code, failed.Classification, want, failed.Detail)
			}
			if !strings.Contains(failed.Detail, want.next) {
				t.Errorf("%q is not in %q", want.next, failed.Detail)
			}
			if n := len(fake.Requests()); n != want.tries {
				t.Errorf("%d requests, want %d", n, want.tries)
			}
		})
	}
}

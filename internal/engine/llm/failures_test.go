package llm_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/internal/engine/llm"
	"github.com/ohgw/ohgw/internal/llmtest"
)

// What providers say differs; what it means decides what is done: a context
// that is full is condensed, an empty account is not asked again.
func TestFailuresOfAllProvidersHaveTheirClass(t *testing.T) {
	t.Parallel()
	type class struct {
		code, kind string
		tries      int
	}
	want := map[llmtest.Class]class{
		llmtest.ContextClass:  {llm.CodeContextWindow, "agent_action", 1},
		llmtest.CreditClass:   {llm.CodeRateLimit, "quota", 1},
		llmtest.RateClass:     {llm.CodeRateLimit, "rate_limit", 2},
		llmtest.KeyClass:      {llm.CodeAuthentication, "auth", 1},
		llmtest.ModelClass:    {llm.CodeNotFound, "config", 1},
		llmtest.TimeoutClass:  {llm.CodeTimeout, "transient", 2},
		llmtest.OverloadClass: {llm.CodeUnavailable, "transient", 2},
		llmtest.RequestClass:  {llm.CodeBadRequest, "config", 1},
	}
	for _, f := range llmtest.Failures() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.On(llmtest.Model("test"), f.Reply())
			_, err := ask(t, at(t, fake.URL, `"num_retries":2`))
			failed, want := failure(t, err), want[f.Class]
			if f.Class == llmtest.ModelClass && f.Status != http.StatusNotFound {
				want.code = llm.CodeBadRequest // as upstream has it
			}
			if failed.Code != want.code || failed.Classification.Kind != want.kind {
				t.Errorf("%s %+v, want %+v\n%s", failed.Code, failed.Classification, want, failed.Detail)
			}
			if n := len(fake.Requests()); n != want.tries {
				t.Errorf("%d requests, want %d", n, want.tries)
			}
		})
	}
}

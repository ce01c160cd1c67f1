package agents

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// silent is a provider that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A provider that says nothing is no fault of the LLM, and the trial ends after 15 s, or
// after the timeout of the LLM where that is shorter.
func TestATrialEndsAfter15Seconds(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]time.Duration{"300": 15 * time.Second, "null": 15 * time.Second, "0": 15 * time.Second, "4": 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			try := tryLLM(llm.Config{HTTP: &http.Client{Transport: silent{}}})
			before := time.Now()
			got := try(t.Context(), json.RawMessage(`{"model":"openai/m","api_key":"k","base_url":"http://127.0.0.1:9/v1","timeout":`+timeout+`}`))
			if took := time.Since(before); !got.OK || took != want {
				t.Errorf("timeout %s: %+v after %s", timeout, got, took)
			}
		})
	}
}

package modelcheck

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/profile"
)

// What providers say, word for word, about the failures that OpenHands has no
// class for.
func TestOutcomeOfTheWordsOfProviders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		detail string
		want   Outcome
	}{
		{404, "404: model: claude-9 (not_found_error)", ModelUnknown},
		{404, "404: models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. (NOT_FOUND)", ModelUnknown},
		{404, `404: model "llama9" not found, try pulling it first`, ModelUnknown},
		{404, "404: The API deployment for this resource does not exist. (DeploymentNotFound)", ModelUnknown},
		{400, "400: Invalid model: mistral-9", ModelUnknown},
		{400, "400: Model Not Exist (invalid_request_error)", ModelUnknown},
		{400, "400: vendor/x is not a valid model ID", ModelUnknown},
		{400, "400: The provided model identifier is invalid. (ValidationException)", ModelUnknown},
		{400, "400: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.", ModelUnknown},
		{404, "404: Not Found", WrongAddress},
		{301, "301: the server redirects to https://example.org; set base_url to the address of the API", WrongAddress},
		{402, "402: Insufficient Balance", OutOfQuota},
		{400, "400: Your credit balance is too low to access the Anthropic API. (invalid_request_error)", OutOfQuota},
		{400, "400: Budget has been exceeded! Current cost: 3.1, Max budget: 3.0 (budget_exceeded)", OutOfQuota},
		{400, "400: Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.", Answered},
		{400, "400: Unsupported value: 'temperature' does not support 0.5 with this model.", Refused},
	}
	for _, tt := range tests {
		code := map[int]string{404: llm.CodeBadRequest, 429: llm.CodeRateLimit}[tt.status]
		if code == "" {
			code = llm.CodeBadRequest
		}
		e := &llm.Error{Code: code, Detail: tt.detail + ". Check the profile's model and options.", Status: tt.status, Classification: llm.Classify(code, tt.detail), Err: errors.New(tt.detail)}
		if got := outcomeOf(e); got != tt.want {
			t.Errorf("outcomeOf(%q) = %s, want %s", tt.detail, got, tt.want)
		}
	}
}

// A server that loads its model is known by its list, which llama.cpp refuses before.
func TestAServerThatLoadsItsModelIsThere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`)
	}))
	t.Cleanup(server.Close)
	p, err := llm.ParseProfile([]byte(`{"model":"openai/m","base_url":"` + server.URL + `/v1","api_key":"FIXTURE-0123456789"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.ListModels(t.Context(), llm.Config{Profile: p})
	if got := Explain("openai/m", err); got.Outcome != Loading || got.Outcome.Severity() != profile.Warning {
		t.Errorf("Explain = %+v, error %v", got, err)
	}
}

// Whatever came of it, a problem has words and a way out.
func TestEveryOutcomeHasARepair(t *testing.T) {
	t.Parallel()
	for _, o := range []Outcome{KeyRefused, ModelUnknown, WrongAddress, OutOfQuota, TooOften, WindowSmall, Refused, Unreachable, BrokenDown, Loading} {
		r := Result{Profile: "work"}
		if got := r.repairOf(o, "AGAIN"); !strings.Contains(got, "ohgw ") && !strings.Contains(got, "AGAIN") {
			t.Errorf("the repair of %s is %q: no command", o, got)
		}
		if o.Severity() == "" {
			t.Errorf("%s is no problem", o)
		}
	}
}

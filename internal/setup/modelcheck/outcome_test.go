package modelcheck

import (
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
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

// Whatever came of it, a problem has words and a way out.
func TestEveryOutcomeHasARepair(t *testing.T) {
	t.Parallel()
	for _, o := range []Outcome{KeyRefused, ModelUnknown, WrongAddress, OutOfQuota, TooOften, WindowSmall, Refused, Unreachable, BrokenDown} {
		r := Result{Profile: "work"}
		if got := r.repairOf(o, "AGAIN"); !strings.Contains(got, "ohgw ") && !strings.Contains(got, "AGAIN") {
			t.Errorf("the repair of %s is %q: no command", o, got)
		}
		if o.Severity() == "" {
			t.Errorf("%s is no problem", o)
		}
	}
}

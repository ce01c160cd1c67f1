package redact_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/redact"
)

func TestTextTakesOutWhatLooksLikeAKey(t *testing.T) {
	t.Parallel()
	// Each secret is put together here so that no scanner takes this file for a leak.
	secret := strings.Repeat("aB3dE6gH", 4)
	tests := []struct{ name, in string }{
		{"a provider's key in an error", "Incorrect API key provided: sk-proj-" + secret},
		{"a masked key", "key sk-" + secret[:12] + "****" + secret[:4] + " is wrong"},
		{"a bearer token", "curl -H 'Authorization: Bearer " + secret + "'"},
		{"an assignment", "export OPENAI_API_KEY=" + secret + " && run"},
		{"JSON", `{"api_key": "` + secret + `"}`},
		{"a password that begins like a variable", "password=$" + secret},
		{"a URL with a password", "postgres://joe:" + secret + "@db/x"},
		{"a key of a platform", "git clone https://ghp_" + secret + "@host/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := redact.Text(tt.in)
			if strings.Contains(got, secret[:12]) {
				t.Errorf("Text(%q) = %q keeps the secret", tt.in, got)
			}
			if !strings.Contains(got, redact.Mark) {
				t.Errorf("Text(%q) = %q does not say that something is missing", tt.in, got)
			}
		})
	}
}

func TestTextLeavesOrdinaryTextAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"go test ./... -run TestToken", "the token count is 12", "sk is a prefix", "",
		"cat ~/.ssh/config | grep -i host", "error: 401 Unauthorized", "http://127.0.0.1:8000/v1", `export OHGW_API_KEY="$(ohgw tokens create ide)"`,
	} {
		if got := redact.Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}

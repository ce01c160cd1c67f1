//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestStrangersReachNothing sends what a web page, a rebinding name or a client without a
// key can send, to a gateway with a real agent behind it.
func TestStrangersReachNothing(t *testing.T) {
	s := newStack(t, racyProgram(t))
	tests := []struct {
		name   string
		header []string
		status int
		code   string
	}{
		{"a page of another origin", []string{"Origin", "https://attacker.example"}, 403, "forbidden_origin"},
		{"a page without an origin", []string{"Origin", "null"}, 403, "forbidden_origin"},
		{"a cross-site request", []string{"Sec-Fetch-Site", "cross-site"}, 403, "forbidden_origin"},
		{"a rebinding name", []string{"Host", "attacker.example"}, 403, "forbidden_host"},
		{"a rebinding name on our port", []string{"Host", "attacker.example" + strings.TrimPrefix(s.URL, "http://127.0.0.1")}, 403, "forbidden_host"},
		{"a simple form request", []string{"Content-Type", "text/plain"}, 400, "unsupported_content_type"},
		{"a body of no type", []string{"Content-Type", ""}, 400, "unsupported_content_type"},
		{"no key", []string{"Authorization", ""}, 401, ""},
		{"a wrong key", []string{"Authorization", "Bearer sk-guess-0123456789"}, 401, "invalid_api_key"},
		{"the agent-server's key", []string{"Authorization", "Bearer " + s.agents.Key}, 401, "invalid_api_key"},
	}
	for _, tt := range tests {
		text, mark := prompt("[[finish never]]")
		res := s.post(t, chat(text, true), tt.header...)
		body := bodyOf(t, res)
		var out struct {
			Error map[string]any `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &out); err != nil || len(out.Error) != 4 {
			t.Errorf("%s: %q is no envelope: %v", tt.name, body, err)
		}
		if code, _ := out.Error["code"].(string); res.StatusCode != tt.status || tt.code != "" && code != tt.code {
			t.Errorf("%s: status = %s, body %s, want %d %s", tt.name, res.Status, body, tt.status, tt.code)
		}
		if allowed := res.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
			t.Errorf("%s: Access-Control-Allow-Origin: %s", tt.name, allowed)
		}
		if strings.Contains(body, "0123456789") {
			t.Errorf("%s: the answer shows the key: %s", tt.name, body)
		}
		if n := len(s.asked(mark)); n != 0 {
			t.Errorf("%s: the LLM was asked %d times", tt.name, n)
		}
	}
	if n := s.conversations(t); n != 0 {
		t.Errorf("the agent-server has %d conversations", n)
	}
	text, _ := prompt("[[finish Welcome.]]")
	if res := s.post(t, chat(text, false)); res.StatusCode != http.StatusOK {
		t.Errorf("a friend: %s %s", res.Status, bodyOf(t, res))
	}
}

package agentserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/secret"
)

func TestPlainLLMHasItsKey(t *testing.T) {
	t.Parallel()
	stored := func(context.Context, agentserver.LLMProfile) ([]agentserver.Secret, error) {
		return []agentserver.Secret{{Field: "api_key", Value: secret.New("sk-of-the-keyring")}}, nil
	}
	own := &agentserver.LLM{Profile: "fast", Model: "openai/test", BaseURL: "http://llm.test/v1", Key: func() string { return "sk-own" }}
	for _, tt := range []struct {
		name    string
		version string
		secrets func(context.Context, agentserver.LLMProfile) ([]agentserver.Secret, error)
		key     string
	}{
		{"of the profile", "1.43.1", nil, "sk-llm"},
		{"of the keyring", "1.43.1", stored, "sk-of-the-keyring"},
		{"of our own config", "1.21.0", nil, "sk-own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := fakeserver.New(t, fakeserver.Options{Key: "sk-session", Version: tt.version})
			server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1", Key: "sk-llm"})
			b, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return "sk-session" }, Secrets: tt.secrets, LLM: own})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			value, err := b.DirectLLM(t.Context(), "fast")
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Model   string `json:"model"`
				BaseURL string `json:"base_url"`
				Key     string `json:"api_key"`
			}
			if err := json.Unmarshal([]byte(value.Reveal()), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"openai/test", "http://llm.test/v1", tt.key}, []string{got.Model, got.BaseURL, got.Key}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if shown := fmt.Sprintf("%v %+v %#v", value, value, value); strings.Contains(shown, tt.key) {
				t.Error("the key shows when the value is printed")
			}
		})
	}
}

func TestPlainLLMThatCannotBeHad(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t, fakeserver.Options{Key: "sk-session"})
	server.SaveProfile("connected", fakeserver.Profile{Model: "openai/test", Connection: "c-1"})
	b := newBackend(t, server, "sk-session")
	for profile, kind := range map[string]error{"connected": agentapi.ErrUnsupported, "unknown": agentapi.ErrProfileNotFound} {
		if _, err := b.DirectLLM(t.Context(), profile); !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", profile, err, kind)
		}
	}
}

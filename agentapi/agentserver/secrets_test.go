package agentserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/secret"
)

// equipped gives the world a backend with secrets of its own for the profile
// "fast", and notes for which profiles it was asked.
func equipped(t *testing.T, w *world, asked *[]agentserver.LLMProfile) {
	t.Helper()
	b, err := agentserver.New(agentserver.Config{
		URL: w.URL, HTTP: w.Client(),
		Secrets: func(_ context.Context, p agentserver.LLMProfile) ([]agentserver.Secret, error) {
			*asked = append(*asked, p)
			if p.Name != "fast" {
				return nil, nil
			}
			return []agentserver.Secret{
				{Field: "api_key", Value: secret.New("sk-stored")},
				{Field: "aws_session_token", Value: secret.New("stored-token")},
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	w.backend = b
}

func TestStoredSecretsTakeThePlaceOfTheProfiles(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]fakeserver.Options{
		"today": {}, "no secret key": {NoSecretKey: true}, "before 1.33": {Version: "1.32.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var keys []string
			opts.Model = func(_ context.Context, p fakeserver.Prompt, _ func(string)) (fakeserver.Reply, error) {
				keys = append(keys, p.Key)
				return fakeserver.Reply{Text: "ok"}, nil
			}
			inBubble(t, opts, func(t *testing.T, w *world) {
				var asked []agentserver.LLMProfile
				equipped(t, w, &asked)
				w.SaveProfile("other", fakeserver.Profile{Model: "openai/other", Key: "sk-other"})
				c := w.open(t)
				run(t, c)
				if err := c.Switch(t.Context(), "other"); err != nil {
					t.Fatal(err)
				}
				run(t, c)
				if err := c.Switch(t.Context(), "fast"); err != nil {
					t.Fatal(err)
				}
				run(t, c)
				if diff := cmp.Diff([]string{"sk-stored", "sk-other", "sk-stored"}, keys); diff != "" {
					t.Errorf("keys of the model, -want +got:\n%s", diff)
				}
				want := []agentserver.LLMProfile{
					{Name: "fast", Model: "openai/test", BaseURL: "http://llm.test/v1"},
					{Name: "other", Model: "openai/other"},
					{Name: "fast", Model: "openai/test", BaseURL: "http://llm.test/v1"},
				}
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Errorf("profiles, -want +got:\n%s", diff)
				}
				for _, call := range w.Calls("POST", "") {
					if strings.Contains(call.Body, "sk-stored") && !strings.HasSuffix(call.Path, "/conversations") && !strings.HasSuffix(call.Path, "/switch_llm") {
						t.Errorf("%s got the key", call.Path)
					}
				}
			})
		})
	}
}

func TestWhatHasNoKeyGetsNoLLM(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		broken := errors.New("broken")
		b, err := agentserver.New(agentserver.Config{
			URL: w.URL, HTTP: w.Client(),
			Secrets: func(context.Context, agentserver.LLMProfile) ([]agentserver.Secret, error) { return nil, broken },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Open(t.Context(), agentapi.OpenRequest{ID: "6f3c1a2e-8b7d-4c5e-9f01-23456789abcd", New: true, Profile: "fast", Workspace: "/w"})
		if !errors.Is(err, broken) || len(w.Calls("POST", "/api/conversations")) != 0 {
			t.Errorf("Open: %v", err)
		}
	})
}

package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
)

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (int, string)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	status, text := f(r)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

const openAIList = `{"object":"list","data":[{"id":"gpt-5"},{"id":"text-embedding-3-large"},{"id":"whisper-1"},{"id":"gpt-4o"},{"id":"gpt-5"}]}`

func TestModelsAreListedAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model, more string
		url, header string // where the list is, and what has the key
		body        string
		want        []string
	}{
		"OpenAI":        {"openai/any", "", "https://api.openai.com/v1/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
		"a local one":   {"openai/any", `"base_url":"http://127.0.0.1:8080/v1"`, "http://127.0.0.1:8080/v1/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
		"Ollama":        {"ollama_chat/any", `"base_url":"http://127.0.0.1:11434"`, "http://127.0.0.1:11434/v1/models", "Authorization", `{"object":"list","data":[{"id":"qwen3:8b"}]}`, []string{"qwen3:8b"}},
		"Mistral":       {"mistral/any", "", "https://api.mistral.ai/v1/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
		"DeepSeek":      {"deepseek/any", "", "https://api.deepseek.com/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
		"Anthropic":     {"anthropic/any", "", "https://api.anthropic.com/v1/models?limit=1000", "X-Api-Key", `{"data":[{"id":"claude-sonnet-4-6"}],"has_more":false}`, []string{"claude-sonnet-4-6"}},
		"Google":        {"gemini/any", "", "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000", "X-Goog-Api-Key", `{"models":[{"name":"models/gemini-2.5-pro","supportedGenerationMethods":["generateContent"]},{"name":"models/aqa","supportedGenerationMethods":["generateAnswer"]}]}`, []string{"gemini-2.5-pro"}},
		"Together":      {"together_ai/any", "", "https://api.together.xyz/v1/models", "Authorization", `[{"id":"b/c"},{"id":"a/b"}]`, []string{"a/b", "b/c"}},
		"no model yet":  {"openai/any", `"base_url":"http://127.0.0.1:8080/v1"`, "http://127.0.0.1:8080/v1/models", "Authorization", `{"object":"list","data":[]}`, nil},
		"nil for none":  {"ollama_chat/any", `"base_url":"http://127.0.0.1:11434"`, "http://127.0.0.1:11434/v1/models", "Authorization", `{"object":"list","data":null}`, nil},
		"OpenHands":     {"openhands/any", "", "https://llm-proxy.app.all-hands.dev/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
		"its responses": {"openai/gpt-5.1-codex", "", "https://api.openai.com/v1/models", "Authorization", openAIList, []string{"gpt-4o", "gpt-5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := roundTrip(func(r *http.Request) (int, string) {
				if got := r.URL.String(); got != tt.url {
					t.Errorf("asked %s, want %s", got, tt.url)
				}
				if got := r.Header.Get(tt.header); !strings.HasSuffix(got, secretKey) {
					t.Errorf("the header %s is %q", tt.header, got)
				}
				return http.StatusOK, tt.body
			})
			got, err := llm.ListModels(t.Context(), llm.Config{Profile: profile(t, tt.model, tt.more), HTTP: &http.Client{Transport: asked}})
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("the error: %v; models (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAListThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status     int
		body, code string
	}{
		"wrong key":    {401, `{"error":{"message":"Incorrect API key provided: ` + secretKey + `"}}`, llm.CodeAuthentication},
		"no API there": {404, "not found", llm.CodeNotFound},
		"a web page":   {200, "<html>", llm.CodeNoResponse},
	} {
		client := &http.Client{Transport: roundTrip(func(*http.Request) (int, string) { return tt.status, tt.body })}
		_, err := llm.ListModels(t.Context(), llm.Config{Profile: profile(t, "openai/any", ""), HTTP: client})
		failed, ok := errors.AsType[*llm.Error](err)
		if !ok || failed.Code != tt.code {
			t.Errorf("%s: %v, want the code %s", name, err, tt.code)
		}
		if err != nil && strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestProvidersWithoutAListSaySo(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"bedrock/any", "perplexity/any"} {
		if _, err := llm.ListModels(t.Context(), llm.Config{Profile: profile(t, model, "")}); !errors.Is(err, llm.ErrNoList) {
			t.Errorf("%s: %v, want ErrNoList", model, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.ListModels(ctx, llm.Config{Profile: profile(t, "openai/any", "")}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestProvidersAreSorted(t *testing.T) {
	t.Parallel()
	all := llm.Providers()
	if !slices.IsSortedFunc(all, func(a, b llm.Provider) int { return strings.Compare(a.Prefix, b.Prefix) }) || len(all) < 20 {
		t.Errorf("the providers are %v", all)
	}
}

func TestABaseURLThatCannotBeUsedSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]struct{ msg, hint string }{
		"localhost:49100":              {`the base URL "localhost:49100" needs http:// or https://`, "write it as http://localhost:49100"},
		"192.168.1.2:8080/v1":          {`the base URL "192.168.1.2:8080/v1" needs http:// or https://`, "write it as http://192.168.1.2:8080/v1"},
		"llm.example.com/v1":           {`the base URL "llm.example.com/v1" needs http:// or https://`, "write it as https://llm.example.com/v1"},
		"gpt-5":                        {`"gpt-5" is not a URL`, "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"},
		"?":                            {`"?" is not a URL`, "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"},
		"ftp://example.com":            {`the base URL "ftp://example.com" must begin with http:// or https://`, "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"},
		"https://":                     {`the base URL "https://" is not a valid URL`, "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"},
		"someone:secret@example.com/x": {`"…@example.com/x" is not a URL`, "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"},
	} {
		err := llm.CheckBaseURL(base)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Msg != want.msg || f.Hint != want.hint {
			t.Errorf("CheckBaseURL(%q) = %v (%+v), want %q, %q", base, err, f, want.msg, want.hint)
		}
	}
	for _, base := range []string{"http://127.0.0.1:8080/v1", "https://api.example.com"} {
		if err := llm.CheckBaseURL(base); err != nil {
			t.Errorf("CheckBaseURL(%q): %v", base, err)
		}
	}
}

func TestTheListOfAServerThatLoadsItsModelIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client := server(func(*http.Request) (*http.Response, error) {
			if time.Since(began) < 40*time.Second {
				return answer(503, "application/json", loadingModel), nil
			}
			return answer(200, "application/json", `{"data":[{"id":"m"}]}`), nil
		}).client()
		loads := 0
		got, err := llm.AwaitModels(t.Context(), llm.Config{HTTP: client, Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8080/v1"`)}, func() { loads++ })
		if err != nil || len(got) != 1 || loads != 1 {
			t.Errorf("the models: %v, %v; told %d times", got, err, loads)
		}
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

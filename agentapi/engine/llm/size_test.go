package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
)

// local is a server of local models with fixed answers by path.
type local struct {
	mu      sync.Mutex
	asked   []string
	answers map[string]string
	url     string
}

func serveLocal(t *testing.T, answers map[string]string) *local {
	t.Helper()
	l := &local{answers: answers}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = append(l.asked, r.URL.Path)
		body, ok := l.answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(body, `"error"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

func (l *local) paths() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

func sized(t *testing.T, name, url, fields string, now func() time.Time) llm.Model {
	t.Helper()
	p, err := llm.ParseProfile(fmt.Appendf(nil, `{"model":%q,"base_url":%q,"num_retries":1%s}`, name, url, fields))
	if err != nil {
		t.Fatal(err)
	}
	m, err := llm.New(llm.Config{Profile: p, Windows: new(window.Book), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAServerIsAskedForItsContext(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model, path, fields string
		answers             map[string]string
		want                int64
		asked               []string
	}{
		"llama.cpp": {"openai/m", "/v1", "", map[string]string{
			"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":8192}}]}`, "/props": `{"default_generation_settings":{"n_ctx":4096}}`,
		}, 4096, []string{"/v1/models", "/props"}},
		"vLLM":                     {"hosted_vllm/m", "/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}`}, 4096, []string{"/v1/models"}},
		"LM Studio":                {"lm_studio/m", "/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"organization_owner"}]}`, "/api/v0/models": `{"data":[{"id":"m","state":"loaded","loaded_context_length":4096}]}`}, 4096, []string{"/v1/models", "/api/v0/models"}},
		"Ollama":                   {"ollama_chat/m", "", "", map[string]string{"/api/ps": `{"models":[{"name":"m:latest","context_length":4096}]}`}, 4096, []string{"/api/ps"}},
		"Ollama, not loaded":       {"openai/m", "/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"library"}]}`, "/api/ps": `{"models":[]}`, "/api/show": `{"parameters":"num_ctx 2048"}`}, 2048, []string{"/v1/models", "/api/ps", "/api/show"}},
		"a smaller limit":          {"hosted_vllm/m", "/v1", `,"max_input_tokens":20000`, map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":40960}]}`}, 20000, []string{"/v1/models"}},
		"a larger limit":           {"hosted_vllm/m", "/v1", `,"max_input_tokens":100000`, map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":40960}]}`}, 40960, []string{"/v1/models"}},
		"a server that says none":  {"openai/m", "/v1", `,"max_input_tokens":20000`, nil, 20000, []string{"/v1/models"}},
		"the model of a catalogue": {"openai/gpt-4o", "/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"gpt-4o","max_model_len":4096}]}`}, 4096, []string{"/v1/models"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := serveLocal(t, tt.answers)
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			m := sized(t, tt.model, l.url+tt.path, tt.fields, func() time.Time { return now })
			if got := l.paths(); len(got) > 0 {
				t.Errorf("asked for %v before it was needed", got)
			}
			m.(llm.Sizer).FindSize(t.Context())
			m.(llm.Sizer).FindSize(t.Context())
			if got := m.Info().ContextWindow; got != tt.want {
				t.Errorf("context %d, want %d", got, tt.want)
			}
			if got := l.paths(); !slices.Equal(got, tt.asked) {
				t.Errorf("asked for %v, want %v once", got, tt.asked)
			}
			now = now.Add(time.Hour)
			m.(llm.Sizer).FindSize(t.Context())
			if got := l.paths(); len(got) == len(tt.asked) {
				t.Errorf("asked for %v after an hour; the server may have another context", got)
			}
		})
	}
}

func TestAProviderInTheCloudIsNotAsked(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, nil)
	for model, url := range map[string]string{
		"openai/gpt-4o": "", "openai/x": "http://models.example.com/v1", "anthropic/claude-sonnet-4-5": l.url, "openrouter/x": "", "gemini/gemini-2.5-pro": "",
	} {
		p, err := llm.ParseProfile(fmt.Appendf(nil, `{"model":%q,"base_url":%q}`, model, url))
		if err != nil {
			t.Fatal(err)
		}
		m, err := llm.New(llm.Config{Profile: p, Windows: new(window.Book), HTTP: &http.Client{Transport: refusing{t}}})
		if err != nil {
			t.Fatal(err)
		}
		m.(llm.Sizer).FindSize(t.Context())
		if _, ok := m.(llm.Sizer).Count(t.Context(), hello("hi")); ok {
			t.Errorf("%s counts", model)
		}
	}
}

// refusing is a network whose use fails the test.
type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("a request to %s", req.URL)
	return nil, http.ErrServerClosed
}

func TestARefusalTeachesTheContext(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, map[string]string{"/v1/chat/completions": `{"error":"Cannot truncate prompt with n_keep (9000) >= n_ctx (4096)"}`})
	m := sized(t, "openai/m", l.url+"/v1", "", nil)
	_, err := m.Generate(t.Context(), hello("hi"), nil)
	if failed := failure(t, err); failed.Code != llm.CodeContextWindow || failed.Prompt != 9000 || failed.Window != 4096 {
		t.Errorf("error %+v", failed)
	}
	if info := m.Info(); info.ContextWindow != 4096 || !info.Served {
		t.Errorf("info %+v", info)
	}
}

func TestLlamaCppCountsARequest(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, map[string]string{
		"/v1/models":      `{"data":[{"id":"m","owned_by":"llamacpp"}]}`,
		"/props":          `{"default_generation_settings":{"n_ctx":4096}}`,
		"/apply-template": `{"prompt":"<|im_start|>user\nhi<|im_end|>\n"}`,
		"/tokenize":       `{"tokens":[1,4093,198,6004,2,198]}`,
	})
	m := sized(t, "openai/m", l.url+"/v1", "", nil)
	if _, ok := m.(llm.Sizer).Count(t.Context(), hello("hi")); ok {
		t.Error("a server that nobody knows counts")
	}
	m.(llm.Sizer).FindSize(t.Context())
	if tokens, ok := m.(llm.Sizer).Count(t.Context(), hello("hi")); !ok || tokens != 6 {
		t.Errorf("counted %d, %v; want 6", tokens, ok)
	}
}

// vLLM refuses a request whose prompt and output limit together exceed its context.
func TestTheOutputLimitFitsIntoTheContextOfTheServer(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}`})
	m := sized(t, "hosted_vllm/m", l.url+"/v1", `,"max_output_tokens":8000`, nil)
	m.(llm.Sizer).FindSize(t.Context())
	for _, tt := range []struct{ own, want int64 }{{0, 4096 - 256 - 1}, {100, 100}} {
		req := hello("hi")
		req.MaxOutput = tt.own
		if limit := sentLimit(t, m, req); limit > tt.want || limit < tt.want-20 {
			t.Errorf("max_tokens %d, want about %d", limit, tt.want)
		}
	}
}

// sentLimit is the output limit of the request that a model makes.
func sentLimit(t *testing.T, m llm.Model, req llm.Request) int64 {
	t.Helper()
	body, err := llm.BodyOf(m, req)
	if err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Max int64 `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.Max
}

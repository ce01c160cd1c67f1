package llm_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/event"
)

// phases asks the model and gives what it told of the call, without what it took.
func phases(t *testing.T, m llm.Model) (told []event.Phase, done event.Phase, err error) {
	t.Helper()
	_, err = m.Generate(t.Context(), hello("Go."), func(d llm.Delta) {
		switch {
		case d.Phase == nil:
		case d.Phase.Name == event.PhaseDone:
			done = *d.Phase
		default:
			told = append(told, *d.Phase)
		}
		if d.Restart {
			t.Error("the answer starts again")
		}
	})
	return told, done, err
}

func bodyOf(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// progressed is a stream of llama.cpp (xllamacpp 2026.10.11549).
func progressed(read ...int) string {
	var b strings.Builder
	for _, n := range read {
		fmt.Fprintf(&b, `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"id":"c","model":"smollm2","object":"chat.completion.chunk","prompt_progress":{"total":1925,"cache":0,"processed":%d,"time_ms":9}}`+"\n\n:\n\n", n)
	}
	return b.String() + `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"yes"}}]}

data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"usage":{"prompt_tokens":1925,"completion_tokens":48},"timings":{"cache_n":25,"prompt_n":1900,"prompt_ms":50000.5,"predicted_n":48,"predicted_ms":4000}}

data: [DONE]

`
}

func TestTheReadingOfAPromptIsTold(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{"with functions": "", "with calls in text": `,"native_tool_calling":false`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body string
			client := server(func(r *http.Request) (*http.Response, error) {
				switch r.URL.Path {
				case "/v1/models":
					return answer(200, "application/json", `{"data":[{"id":"m","owned_by":"llamacpp"}]}`), nil
				case "/v1/chat/completions":
					body = bodyOf(t, r)
					return answer(200, "text/event-stream", progressed(0, 5, 6, 1900, 1925)), nil
				}
				return answer(404, "text/plain", "no"), nil
			}).client()
			m := newModel(t, llm.Config{HTTP: client, Windows: new(window.Book), Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8080/v1"`+fields)})
			m.(llm.Sizer).FindSize(t.Context())
			told, done, err := phases(t, m)
			if err != nil {
				t.Fatal(err)
			}
			reading := func(n int64) event.Phase { return event.Phase{Name: event.PhaseReading, Prompt: 1925, Read: n} }
			want := []event.Phase{reading(0), reading(1900), reading(1925), {Name: event.PhaseWriting}}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Error(diff)
			}
			want = []event.Phase{{Name: event.PhaseDone, Prompt: 1925, Read: 1900, Written: 48, ReadSeconds: 50.0005, WriteSeconds: 4}}
			if diff := cmp.Diff(want[0], done); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(body, `"return_progress":true`) {
				t.Errorf("llama.cpp was not asked for it: %s", body)
			}
		})
	}
}

func TestOnlyLlamaCppIsAskedForItsProgress(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`{"data":[{"id":"m","owned_by":"vllm"}]}`, `{"data":[{"id":"m","owned_by":"organization_owner"}]}`, `{"data":[{"id":"m"}]}`, `{}`} {
		client := server(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/chat/completions" {
				if body := bodyOf(t, r); strings.Contains(body, "progress") {
					t.Errorf("%s: sent %s", list, body)
				}
				return said("yes"), nil
			}
			return answer(200, "application/json", list), nil
		}).client()
		m := newModel(t, llm.Config{HTTP: client, Windows: new(window.Book), Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8000/v1"`)})
		m.(llm.Sizer).FindSize(t.Context())
		if told, _, err := phases(t, m); err != nil || len(told) > 0 {
			t.Errorf("%s: told %v, %v", list, told, err)
		}
	}
}

const loadingModel = `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`

func TestAModelThatIsLoadedIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		loads int // answers before it is there
		fails bool
	}{"two minutes": {120, false}, "longer than the profile allows": {1000, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				client := server(func(*http.Request) (*http.Response, error) {
					if n++; n <= tt.loads {
						return answer(503, "application/json", loadingModel), nil
					}
					return said("yes"), nil
				}).client()
				m := newModel(t, llm.Config{HTTP: client, Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8080/v1","num_retries":1,"timeout":300`)})
				began := time.Now()
				told, _, err := phases(t, m)
				if (err != nil) != tt.fails {
					t.Fatal(err)
				}
				if tt.fails {
					if took := time.Since(began); took < 300*time.Second || took > 302*time.Second {
						t.Errorf("waited for %s", took)
					}
					return
				}
				want := []event.Phase{{Name: event.PhaseLoading}, {Name: event.PhaseWriting}}
				if diff := cmp.Diff(want, told); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestTheFirstCallOfAServerThatLoadsModelsItselfIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model   string
		answers map[string]string
		told    bool
	}{
		"Ollama": {"ollama_chat/gemma3", map[string]string{"/api/ps": `{"models":[]}`, "/api/show": `{"parameters":"num_ctx 2048"}`}, true},
		"Ollama that has loaded another": {"ollama_chat/gemma3", map[string]string{
			"/api/ps": `{"models":[{"name":"qwen3:8b","context_length":4096}]}`, "/api/show": `{"parameters":"num_ctx 2048"}`,
		}, true},
		"Ollama that has loaded it": {"ollama_chat/gemma3", map[string]string{"/api/ps": `{"models":[{"name":"gemma3:latest","context_length":4096}]}`}, false},
		"LM Studio": {"openai/m", map[string]string{
			"/v1/models": `{"data":[{"id":"m","owned_by":"organization_owner"}]}`, "/api/v0/models": `{"data":[{"id":"m","state":"not-loaded"}]}`,
		}, true},
		"an Ollama that does not say": {"ollama_chat/gemma3", nil, false},
	} {
		client := server(func(r *http.Request) (*http.Response, error) {
			if body, ok := tt.answers[r.URL.Path]; ok {
				return answer(200, "application/json", body), nil
			}
			if strings.HasSuffix(r.URL.Path, "/chat/completions") {
				return said("yes"), nil
			}
			return answer(404, "text/plain", "no"), nil
		}).client()
		base := "http://127.0.0.1:11434"
		if strings.HasPrefix(tt.model, "openai/") {
			base += "/v1"
		}
		m := newModel(t, llm.Config{HTTP: client, Windows: new(window.Book), Profile: profile(t, tt.model, `"base_url":"`+base+`"`)})
		m.(llm.Sizer).FindSize(t.Context())
		for i := range 2 {
			told, _, err := phases(t, m)
			if err != nil {
				t.Fatal(name, err)
			}
			want := []event.Phase(nil)
			if tt.told && i == 0 { // afterwards it is loaded
				want = []event.Phase{{Name: event.PhaseLoading}, {Name: event.PhaseWriting}}
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("%s, call %d: %s", name, i, diff)
			}
		}
	}
}

// A server that loads its model for 40 s tells nothing of itself before: the newest
// llama.cpp not even its list of models.
func TestTheSizeIsKnownWhenTheModelIsLoaded(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]string{"llama.cpp": "", "llama.cpp of 2025": "/v1/models"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				client := server(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path != early && time.Since(began) < 40*time.Second {
						return answer(503, "application/json", loadingModel), nil
					}
					return answer(200, "application/json", map[string]string{
						"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp","meta":null}]}`,
						"/props":     `{"default_generation_settings":{"n_ctx":4096}}`,
					}[r.URL.Path]), nil
				}).client()
				m := newModel(t, llm.Config{HTTP: client, Windows: new(window.Book), Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8080/v1"`)})
				s := m.(llm.Sizer)
				s.FindSize(t.Context())
				if took := time.Since(began); took > 0 || m.Info().Served {
					t.Errorf("after %s the context is known: %v", took, m.Info().Served)
				}
				var told []event.Phase
				s.AwaitLoaded(t.Context(), func(d llm.Delta) { told = append(told, *d.Phase) })
				if took := time.Since(began); took != 40*time.Second {
					t.Errorf("waited for %s", took)
				}
				if diff := cmp.Diff([]event.Phase{{Name: event.PhaseLoading}}, told); diff != "" {
					t.Error(diff)
				}
				if got := m.Info().ContextWindow; got != 4096 {
					t.Errorf("context %d", got)
				}
				s.AwaitLoaded(t.Context(), func(llm.Delta) { t.Error("told of a model that is loaded") })
			})
		})
	}
}

// A server that starts while it is asked is asked what it is before the second attempt.
func TestAServerThatWasNotThereIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model, base string
		answers     map[string]string
		stream      *http.Response
		first       event.Phase
	}{
		"Ollama": {"ollama_chat/m", "http://127.0.0.1:11434", map[string]string{
			"/api/ps": `{"models":[]}`, "/api/show": `{"parameters":"num_ctx 2048"}`,
		}, said("yes"), event.Phase{Name: event.PhaseLoading}},
		"llama.cpp": {"openai/m", "http://127.0.0.1:8080/v1", map[string]string{
			"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp"}]}`, "/props": `{"default_generation_settings":{"n_ctx":2048}}`,
		}, answer(200, "text/event-stream", progressed(0)), event.Phase{Name: event.PhaseReading, Prompt: 1925}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				client := server(func(r *http.Request) (*http.Response, error) {
					if time.Since(began) < time.Second {
						return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
					}
					if body, ok := tt.answers[r.URL.Path]; ok {
						return answer(200, "application/json", body), nil
					}
					return tt.stream, nil
				}).client()
				m := newModel(t, llm.Config{HTTP: client, Windows: new(window.Book), Profile: profile(t, tt.model, `"base_url":"`+tt.base+`","num_retries":2,"retry_min_wait":2`)})
				m.(llm.Sizer).FindSize(t.Context())
				told, _, err := phases(t, m)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]event.Phase{tt.first, {Name: event.PhaseWriting}}, told); diff != "" {
					t.Error(diff)
				}
				if got := m.Info().ContextWindow; got != 2048 {
					t.Errorf("context %d", got)
				}
			})
		})
	}
}

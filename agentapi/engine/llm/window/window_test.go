package window_test

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The answers of real servers, shortened.
const (
	// llama.cpp, GET /v1/models and GET /props, started with two slots of 4,096.
	llamaList  = `{"object":"list","data":[{"id":"smollm2","aliases":["smollm2"],"object":"model","owned_by":"llamacpp","meta":{"n_vocab":49152,"n_ctx":4096,"n_ctx_train":8192}}]}`
	llamaProps = `{"default_generation_settings":{"params":{"n_keep":0},"n_ctx":4096},"total_slots":2,"model_alias":"smollm2"}`
	// llama.cpp that serves several models: github.com/1ay1/agentty/issues/49.
	routerProps = `{"role":"router","default_generation_settings":{"params":null,"n_ctx":0}}`
	// Ollama: https://docs.ollama.com/api/ps.md and .../api-reference/show-model-details.
	ollamaPs   = `{"models":[{"name":"gemma3:latest","model":"gemma3:latest","size":6591830464,"details":{"family":"gemma3"},"size_vram":5333539264,"context_length":4096}]}`
	ollamaShow = `{"parameters":"temperature 0.7\nnum_ctx 2048","details":{"family":"gemma3"},"model_info":{"gemma3.context_length":131072}}`
	// LM Studio: github.com/zed-industries/zed/pull/25606 and
	// github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2139.
	studioList   = `{"data":[{"id":"gemma-3-4b-it","object":"model","owned_by":"organization_owner"}],"object":"list"}`
	studioModels = `{"data":[{"id":"gemma-3-4b-it","type":"vlm","state":"loaded","max_context_length":131072,"loaded_context_length":4096},{"id":"other","state":"not-loaded","max_context_length":2048}]}`
	// vLLM: vllm/entrypoints/openai, ModelCard.
	vllmList = `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","owned_by":"vllm","root":"Qwen/Qwen3-8B","parent":null,"max_model_len":40960}]}`
)

func TestServersNameTheContextThatARequestHas(t *testing.T) {
	t.Parallel()
	type answer struct {
		server window.Server
		tokens int64
	}
	running := func(body, model string) answer {
		tokens, loaded := window.Running([]byte(body), model)
		if loaded != (tokens > 0) {
			t.Errorf("%s: loaded is %v with %d tokens", model, loaded, tokens)
		}
		return answer{tokens: tokens}
	}
	studio := func(model string) answer {
		tokens, cold := window.Loaded([]byte(studioModels), model)
		if cold != (tokens == 0) {
			t.Errorf("%s: cold is %v with %d tokens", model, cold, tokens)
		}
		return answer{tokens: tokens}
	}
	list := func(body, model string) answer {
		server, tokens := window.List([]byte(body), model)
		return answer{server, tokens}
	}
	for name, tt := range map[string]struct{ got, want answer }{
		"llama.cpp":                        {list(llamaList, "smollm2"), answer{window.LlamaCpp, 4096}},
		"llama.cpp under another name":     {list(llamaList, "gpt-4"), answer{window.LlamaCpp, 4096}},
		"llama.cpp, one slot":              {answer{tokens: window.Props([]byte(llamaProps))}, answer{tokens: 4096}},
		"llama.cpp with several models":    {answer{tokens: window.Props([]byte(routerProps))}, answer{}},
		"vLLM":                             {list(vllmList, "Qwen/Qwen3-8B"), answer{window.VLLM, 40960}},
		"LM Studio":                        {list(studioList, "gemma-3-4b-it"), answer{window.LMStudio, 0}},
		"LM Studio, loaded":                {studio("gemma-3-4b-it"), answer{tokens: 4096}},
		"LM Studio, not loaded":            {studio("other"), answer{}},
		"Ollama, loaded":                   {running(ollamaPs, "gemma3"), answer{tokens: 4096}},
		"Ollama, not loaded":               {running(ollamaPs, "gemma3:27b"), answer{}},
		"Ollama, as the model is made":     {answer{tokens: window.Shown([]byte(ollamaShow))}, answer{tokens: 2048}},
		"Ollama, a name with slashes":      {running(ollamaPs, "library/gemma3"), answer{}},
		"a page instead of a list":         {list("<html>", "m"), answer{}},
		"an empty list":                    {list(`{"data":[]}`, "m"), answer{}},
		"several models, none of the name": {list(`{"data":[{"id":"a","max_model_len":1},{"id":"b"}]}`, "m"), answer{}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: window = %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestRefusalsNameTheirNumbers(t *testing.T) {
	t.Parallel()
	want := map[string][2]int64{
		"context-vllm": {31000, 32768}, "context-vllm-decoder": {40000, 32768}, "context-vllm-output": {20000, 32768},
		"context-sglang": {40000, 32768}, "context-sglang-length": {160062, 59862}, "context-sglang-total": {39000, 32768},
		"context-lmstudio-overflow": {0, 4096}, "context-lmstudio-first": {8000, 4096}, "context-lmstudio-truncate": {9000, 4096},
		"context-llamacpp": {5000, 4096}, "context-tgi": {5000, 4096}, "context-mlx": {5000, 4096},
	}
	for _, f := range llmtest.Failures() {
		numbers, ok := want[f.Name]
		if !ok {
			continue
		}
		delete(want, f.Name)
		said := wire.ParseFailure(f.Status, nil, []byte(f.Body), time.Time{}).Message
		if prompt, context := window.Refusal(said); prompt != numbers[0] || context != numbers[1] {
			t.Errorf("%s: %d of %d, want %v: %s", f.Name, prompt, context, numbers, said)
		}
	}
	for name := range want {
		t.Errorf("there is no failure %s", name)
	}
}

func TestABookKeepsWhatARefusalTaught(t *testing.T) {
	t.Parallel()
	var b window.Book
	k := window.Key{URL: "http://localhost:1234/v1", Model: "m"}
	if got := b.Look(k); got != (window.Known{}) {
		t.Errorf("an empty book knows %v", got)
	}
	b.Refused(k, 4096)
	next := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.Told(k, window.Known{Next: next})
	if got := b.Look(k); got != (window.Known{Tokens: 4096, Next: next}) {
		t.Errorf("after an answer without a size: %v", got)
	}
	b.Told(k, window.Known{Tokens: 8192, Server: window.LlamaCpp})
	b.Refused(k, 2048)
	if got := b.Look(k); got != (window.Known{Tokens: 2048, Server: window.LlamaCpp}) {
		t.Errorf("after a refusal: %v", got)
	}
}

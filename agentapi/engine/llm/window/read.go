package window

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// listed is a model in a list.
type listed struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	Owner   string   `json:"owned_by"`
	Max     int64    `json:"max_model_len"` // vLLM, SGLang
	Meta    struct {
		Context int64 `json:"n_ctx"` // llama.cpp
	} `json:"meta"`
}

// List reads a list of models (GET /v1/models): which program the server is, and the
// context of a model where the list has it.
func List(body []byte, model string) (server Server, tokens int64) {
	var list struct {
		Data []listed `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || len(list.Data) == 0 {
		return Other, 0
	}
	at := slices.IndexFunc(list.Data, func(m listed) bool { return m.ID == model || slices.Contains(m.Aliases, model) })
	if at < 0 && len(list.Data) == 1 {
		at = 0 // llama.cpp answers for any name
	}
	switch list.Data[max(at, 0)].Owner {
	case "llamacpp":
		server = LlamaCpp
	case "vllm":
		server = VLLM
	case "library":
		server = Ollama
	case "organization_owner":
		server = LMStudio
	}
	if at < 0 {
		return server, 0
	}
	return server, max(list.Data[at].Max, list.Data[at].Meta.Context)
}

// Props reads llama.cpp's GET /props: the context of one of its slots, which is what a
// request has.
func Props(body []byte) int64 {
	var props struct {
		Settings struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &props) != nil {
		return 0
	}
	return props.Settings.Context
}

// Running reads Ollama's GET /api/ps: whether a model is loaded, and with which context.
func Running(body []byte, model string) (tokens int64, loaded bool) {
	var list struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int64  `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &list) != nil {
		return 0, false
	}
	for _, m := range list.Models {
		if tagged(m.Name) == tagged(model) || tagged(m.Model) == tagged(model) {
			return m.Context, true
		}
	}
	return 0, false
}

// tagged is a name of Ollama's with the tag that it stands for.
func tagged(name string) string {
	if strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name
	}
	return name + ":latest"
}

// numCtx is a line of an Ollama model's parameters.
var numCtx = pattern.Of(`(?m)^\s*num_ctx\s+(\d+)`)

// Shown reads Ollama's POST /api/show: the num_ctx that the model is made with. What
// the model was trained with is not what Ollama loads it with.
func Shown(body []byte) int64 {
	var shown struct {
		Parameters string `json:"parameters"`
	}
	if json.Unmarshal(body, &shown) != nil {
		return 0
	}
	return number(numCtx().FindStringSubmatch(shown.Parameters))
}

// Loaded reads LM Studio's GET /api/v0/models: the context with which a model is
// loaded, and whether it will be loaded when it is called.
func Loaded(body []byte, model string) (tokens int64, cold bool) {
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			State   string `json:"state"`
			Context int64  `json:"loaded_context_length"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return 0, false
	}
	for _, m := range list.Data {
		if m.ID != model {
			continue
		}
		if m.State == "loaded" {
			return m.Context, false
		}
		cold = m.State == "not-loaded"
	}
	return 0, cold
}

// sizes are the words around a context's size in refusals of servers that people run.
var sizes = pattern.Of(`(?i)>= n_ctx:? \(?(\d+)` + // LM Studio
	`|context length of(?: only)? (\d+)` + // LM Studio, SGLang
	`|maximum context length is (\d+)` + // vLLM
	`|maximum model length of (\d+)` + // vLLM
	`|model's context length \((\d+)` + // SGLang
	`|exceeds the maximum allowed length \((\d+)` + // SGLang
	`|available context size \((\d+)` + // llama.cpp
	`|configured context size is (\d+)` + // MLX
	`|max_new_tokens. must be <= (\d+)`) // TGI

// prompts are the words around the size of the prompt in the same refusals.
var prompts = pattern.Of(`(?i)request \((\d+) tokens\)` + // llama.cpp
	`|n_keep:? \(?(\d+)` + // LM Studio
	`|keep the first (\d+)` + // LM Studio
	`|\((\d+) in the messages` + // vLLM
	`|your request has (\d+) input tokens` + // vLLM
	`|decoder prompt \(length (\d+)` + // vLLM
	`|the input \((\d+) tokens\)` + // SGLang
	`|input length \((\d+) tokens\)` + // SGLang
	`|(\d+) tokens from the input` + // SGLang
	`|prompt has (\d+) tokens` + // MLX
	`|given: (\d+) `) // TGI

// Refusal reads the numbers in the words of a server for which a request was too long;
// 0 for one that it does not name.
func Refusal(text string) (prompt, context int64) {
	return number(prompts().FindStringSubmatch(text)), number(sizes().FindStringSubmatch(text))
}

// number is the first group of a match that has one.
func number(match []string) int64 {
	for _, group := range match[min(1, len(match)):] {
		if n, err := strconv.ParseInt(group, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

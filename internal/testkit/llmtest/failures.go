package llmtest

import (
	"fmt"
	"net/http"
	"slices"
)

// Class is what a provider's error means, whatever its words.
type Class string

// The classes of a [Failure].
const (
	ContextClass  Class = "context"  // the prompt is longer than the context window
	CreditClass   Class = "credit"   // the account is empty: no waiting helps
	RateClass     Class = "rate"     // too many requests or tokens at the moment
	KeyClass      Class = "key"      // the key is wrong
	ModelClass    Class = "model"    // there is no such model
	TimeoutClass  Class = "timeout"  // the provider gave up waiting
	OverloadClass Class = "overload" // the provider is down or busy
	RequestClass  Class = "request"  // the request is wrong in another way
)

// Failure is an error of one provider as it is sent.
type Failure struct {
	Name   string // of the class and the provider, such as "context-mistral"
	Class  Class
	Status int
	Header http.Header
	Body   string
}

// Reply is the failure as a reply.
func (f Failure) Reply() Reply {
	header := f.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	return Reply{Status: f.Status, Header: header, Body: f.Body}
}

// Failures are the errors of providers, each with a name of its own: what real
// servers send, from their sources and from public reports.
func Failures() []Failure {
	return slices.Concat(contextFailures(), localContextFailures(), creditFailures(), rateFailures(), otherFailures(), nearContextFailures())
}

// FailureNamed is the reply of the failure with that name.
func FailureNamed(name string) (Reply, error) {
	for _, f := range Failures() {
		if f.Name == name {
			return f.Reply(), nil
		}
	}
	return Reply{}, fmt.Errorf("there is no failure %q", name)
}

// openAI is an error object as OpenAI and most others nest it.
func openAI(message, kind, code string) string {
	return encode(errorBody{errorObject{Message: message, Type: kind, Code: code}})
}

// flat is an error object at the top, as vLLM and Mistral send it.
func flat(message, kind string, code any) string {
	return encode(map[string]any{"object": "error", "message": message, "type": kind, "param": nil, "code": code})
}

// plain is an error that is a sentence.
func plain(message string) string { return encode(map[string]string{"error": message}) }

// anthropic is an error of Anthropic.
func anthropic(kind, message string) string {
	return encode(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}})
}

// google is an error of Google's own API.
func google(code int, status, message string, details ...any) string {
	return encode(map[string]any{"error": map[string]any{"code": code, "message": message, "status": status, "details": details}})
}

// openRouter is what OpenRouter makes of another provider's error.
func openRouter(status int, provider, raw string) string {
	return encode(map[string]any{"error": map[string]any{
		"message": "Provider returned error", "code": status,
		"metadata": map[string]string{"raw": raw, "provider_name": provider},
	}, "user_id": "user_1"})
}

// aws is the header that names an error of Bedrock.
func aws(kind string) http.Header {
	return http.Header{"X-Amzn-Errortype": {kind + ":http://internal.amazon.com/coral/com.amazon.bedrock/"}}
}

// contextFailures lists prompts that are too long, in the words of hosted APIs.
func contextFailures() []Failure {
	const invalid = "invalid_request_error"
	list := []struct {
		name   string
		status int
		body   string
	}{
		{"openai", 400, openAI("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.", invalid, "context_length_exceeded")},
		{"openai-responses", 400, openAI("Your input exceeds the context window of this model. Please adjust your input and try again.", invalid, "context_length_exceeded")},
		{"azure", 400, openAI("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.", "", "context_length_exceeded")},
		{"anthropic", 400, anthropic(invalid, "prompt is too long: 210000 tokens > 200000 maximum")},
		{"anthropic-output", 400, anthropic(invalid, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again")},
		{"anthropic-413", 413, anthropic("request_too_large", "Request exceeds the maximum size")},
		{"openrouter", 400, encode(map[string]any{"error": map[string]any{"code": 400, "message": "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (138000 of text input, 2000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically."}})},
		{"openrouter-anthropic", 400, openRouter(400, "Anthropic", anthropic(invalid, "prompt is too long: 210000 tokens > 200000 maximum"))},
		{"openrouter-xai", 400, openRouter(400, "xAI", encode(map[string]string{"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}))},
		{"xai", 400, encode(map[string]string{"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."})},
		{"mistral", 400, flat("Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length", invalid, "3051")},
		{"moonshot", 400, openAI("Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)", invalid, "")},
		{"zai", 400, encode(map[string]any{"error": map[string]string{"code": "1261", "message": "Prompt exceeds max length"}})},
		{"dashscope", 400, openAI("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", invalid, "invalid_parameter_error")},
		{"sambanova", 400, openAI("Requested generation length 1 is not possible! The provided prompt is 17000 tokens long, so generating 1 tokens requires a sequence length of 17001, but the maximum supported sequence length is just 16384!", invalid, "")},
		{"sambanova-deepseek", 400, openAI("The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request will take 39732 tokens. Please reduce the length of the messages or the specified max_completion_tokens value.", invalid, "")},
		{"copilot", 400, openAI("prompt token count of 70000 exceeds the limit of 64000", "", "model_max_prompt_tokens_exceeded")},
		{"groq", 400, openAI("Please reduce the length of the messages or completion.", invalid, "context_length_exceeded")},
		{"together", 422, openAI("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`", invalid, "")},
		{"together-model", 400, openAI("The input (200000 tokens) is longer than the model's context length (131072 tokens).", invalid, "")},
		{"fireworks", 400, openAI("The prompt is too long: 140000, model maximum context length: 131071", invalid, "")},
		{"deepseek", 400, openAI("This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (131808 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.", invalid, invalid)},
		{"cohere", 400, encode(map[string]string{"id": "1", "message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt or enabling prompt truncating."})},
		{"gemini", 400, google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).")},
		{"gemini-openai", 400, "[" + google(400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576.") + "]"},
		{"vertex", 400, google(400, "INVALID_ARGUMENT", "The input token count is 1196265 but model only supports up to 1048575.")},
		{"minimax", 400, encode(map[string]any{"type": "error", "error": map[string]string{"type": "bad_request_error", "message": "invalid params, context window exceeds limit (2013)", "http_code": "400"}})},
		{"cerebras", 400, encode(map[string]string{"message": "Please reduce the length of the messages or completion. Current length is 8393 while limit is 8192", "type": invalid, "param": "messages", "code": "context_length_exceeded"})},
		{"volcengine", 400, openAI("Total tokens of image and text exceed max message tokens. Request id: 1", "BadRequest", "InvalidParameter")},
		{"poolside", 400, openAI("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", invalid, "")},
		{"litellm", 400, openAI("litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - too long", "", "400")},
	}
	out := make([]Failure, 0, len(list))
	for _, f := range list {
		out = append(out, Failure{Name: "context-" + f.name, Class: ContextClass, Status: f.status, Body: f.body})
	}
	for _, f := range []struct{ name, message string }{
		{"bedrock-claude", "The model returned the following errors: Input is too long for requested model."},
		{"bedrock-nova", "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."},
		{"bedrock-mistral", "This model's maximum context length is 32768 tokens. Please reduce the length of the prompt"},
	} {
		out = append(out, Failure{
			Name: "context-" + f.name, Class: ContextClass, Status: http.StatusBadRequest,
			Header: aws("ValidationException"), Body: encode(map[string]string{"message": f.message}),
		})
	}
	return out
}

// localContextFailures lists the same in the words of servers that people run.
func localContextFailures() []Failure {
	const bad = "BadRequestError"
	list := []struct {
		name   string
		status int
		body   string
	}{
		{"vllm", 400, flat("This model's maximum context length is 32768 tokens. However, you requested 33000 tokens (31000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.", bad, 400)},
		{"vllm-decoder", 400, flat("The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.", bad, 400)},
		{"vllm-output", 400, flat("'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 32768 tokens and your request has 20000 input tokens (16384 > 32768 - 20000).", bad, 400)},
		{"sglang", 400, flat("The input (40000 tokens) is longer than the model's context length (32768 tokens).", bad, 400)},
		{"sglang-length", 400, flat("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.", bad, 400)},
		{"sglang-total", 400, flat("Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 39000 tokens from the input messages and 1000 tokens for the completion.", bad, 400)},
		{"ollama", 400, openAI("prompt too long; exceeded max context length by 4096 tokens", "invalid_request_error", "")},
		{"ollama-input", 500, openAI("the input length exceeds the context length", "api_error", "")},
		{"lmstudio-keep", 400, plain("The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input")},
		{"lmstudio-overflow", 400, plain("Reached context length of 4096 tokens with model (arch: llama), but this model does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.")},
		{"lmstudio-first", 400, plain("Trying to keep the first 8000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input")},
		{"lmstudio-truncate", 400, plain("Cannot truncate prompt with n_keep (9000) >= n_ctx (4096)")},
		{"llamacpp", 400, encode(map[string]any{"error": map[string]any{"code": 400, "message": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}})},
		{"llamacpp-old", 500, encode(map[string]any{"error": map[string]any{"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}})},
		{"tgi", 422, encode(map[string]string{"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`", "error_type": "validation"})},
		{"tgi-inputs", 422, encode(map[string]string{"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", "error_type": "validation"})},
		{"mlx", 400, openAI("Prompt has 5000 tokens, but the configured context size is 4096 tokens", "invalid_request_error", "")},
	}
	out := make([]Failure, 0, len(list))
	for _, f := range list {
		out = append(out, Failure{Name: "context-" + f.name, Class: ContextClass, Status: f.status, Body: f.body})
	}
	return out
}

// creditFailures lists accounts without money.
func creditFailures() []Failure {
	list := []struct {
		name   string
		status int
		body   string
	}{
		{"openai", 429, openAI("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota")},
		{"openrouter", 402, encode(map[string]any{"error": map[string]any{"code": 402, "message": "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 5000. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"}})},
		{"deepseek", 402, openAI("Insufficient Balance", "unknown_error", "invalid_request_error")},
		{"anthropic", 400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")},
		{"moonshot", 429, openAI("Your account org-1<ak-1> is suspended due to insufficient balance, please recharge your account or check your plan and billing details", "exceeded_current_quota_error", "")},
		{"zai", 429, encode(map[string]any{"error": map[string]string{"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}})},
		{"xai", 403, encode(map[string]string{"code": "The caller does not have permission to execute the specified operation", "error": "Your newly created teams doesn't have any credits yet. You can purchase those on https://console.x.ai/team/1."})},
		{"xai-limit", 429, encode(map[string]string{"code": "Some resource has been exhausted", "error": "Your team 1 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."})},
		{"together", 402, openAI("Credit limit exceeded, please navigate to https://api.together.xyz/settings/billing to top up your credits", "credit_limit", "")},
		{"fireworks", 412, openAI("Account a is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.", "invalid_request_error", "")},
		{"dashscope", 400, openAI("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage")},
		{"minimax", 429, encode(map[string]any{"type": "error", "error": map[string]string{"type": "insufficient_balance_error", "message": "insufficient balance (1008)", "http_code": "429"}})},
		{"huggingface", 402, plain("You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.")},
		{"litellm", 400, openAI("Budget has been exceeded! Current cost: 0.1, Max budget: 0.05", "budget_exceeded", "400")},
		{"cerebras", 402, encode(map[string]string{"message": "Payment required.", "type": "payment_required_error", "code": "payment_required"})},
	}
	out := make([]Failure, 0, len(list))
	for _, f := range list {
		out = append(out, Failure{Name: "credit-" + f.name, Class: CreditClass, Status: f.status, Body: f.body})
	}
	return out
}

// rateFailures lists requests that come too fast, with every way to say when to come
// again.
func rateFailures() []Failure {
	retryInfo := map[string]string{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}
	return []Failure{
		{Name: "rate-openai", Class: RateClass, Status: 429, Header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}, Body: openAI("Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.5s.", "tokens", "rate_limit_exceeded")},
		{Name: "rate-anthropic", Class: RateClass, Status: 429, Header: http.Header{"Retry-After": {"2"}}, Body: anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.")},
		{Name: "rate-groq-413", Class: RateClass, Status: 413, Header: http.Header{"Retry-After": {"2"}}, Body: openAI("Request too large for model `openai/gpt-oss-120b` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 9412, please reduce your message size and try again.", "tokens", "rate_limit_exceeded")},
		{Name: "rate-gemini", Class: RateClass, Status: 429, Body: google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details. Please retry in 1.5s.", retryInfo)},
		{Name: "rate-bedrock", Class: RateClass, Status: 429, Header: aws("ThrottlingException"), Body: encode(map[string]string{"message": "Too many tokens, please wait before trying again."})},
		{Name: "rate-mistral", Class: RateClass, Status: 429, Body: flat("Service tier capacity exceeded for this model.", "invalid_request_error", "3505")},
		{Name: "rate-zai", Class: RateClass, Status: 429, Body: encode(map[string]any{"error": map[string]string{"code": "1302", "message": "High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits"}})},
		{Name: "rate-openrouter", Class: RateClass, Status: 429, Body: openRouter(429, "Chutes", `{"detail":"Too many requests"}`)},
		{Name: "rate-date", Class: RateClass, Status: 429, Header: http.Header{"Retry-After": {"Sun, 06 Nov 1994 08:49:37 GMT"}}, Body: openAI("slow down", "", "")},
		{Name: "rate-nonsense", Class: RateClass, Status: 429, Header: http.Header{"Retry-After": {"soon"}}, Body: "slow down"},
	}
}

// otherFailures lists wrong keys, models that do not exist, and servers that are
// down.
func otherFailures() []Failure {
	html := http.Header{"Content-Type": {"text/html"}}
	return []Failure{
		{Name: "key-openai", Class: KeyClass, Status: 401, Body: openAI("Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.", "invalid_request_error", "invalid_api_key")},
		{Name: "key-xai", Class: KeyClass, Status: 400, Body: encode(map[string]string{"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***key. You can obtain an API key from https://console.x.ai."})},
		{Name: "key-litellm-proxy", Class: KeyClass, Status: 400, Body: openAI("No connected db.", "no_db_connection", "400")},
		{Name: "key-gemini", Class: KeyClass, Status: 400, Body: google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")},
		{Name: "key-bedrock", Class: KeyClass, Status: 403, Header: aws("UnrecognizedClientException"), Body: encode(map[string]string{"message": "The security token included in the request is invalid."})},

		{Name: "model-openai", Class: ModelClass, Status: 404, Body: openAI("The model `gpt-9` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")},
		{Name: "model-anthropic", Class: ModelClass, Status: 404, Body: anthropic("not_found_error", "model: claude-9")},
		{Name: "model-ollama", Class: ModelClass, Status: 404, Body: openAI("model \"llama9\" not found, try pulling it first", "not_found_error", "")},
		{Name: "model-vllm", Class: ModelClass, Status: 404, Body: flat("The model `x` does not exist.", "NotFoundError", 404)},
		{Name: "model-openrouter", Class: ModelClass, Status: 400, Body: encode(map[string]any{"error": map[string]any{"code": 400, "message": "x/y is not a valid model ID"}})},
		{Name: "model-mistral", Class: ModelClass, Status: 400, Body: flat("Invalid model: mistral-9", "invalid_model", "1500")},

		{Name: "timeout-408", Class: TimeoutClass, Status: 408, Body: openAI("Request timed out", "", "")},
		{Name: "timeout-504", Class: TimeoutClass, Status: 504, Header: html, Body: proxyPage},

		{Name: "overload-anthropic", Class: OverloadClass, Status: 529, Body: anthropic("overloaded_error", "Overloaded")},
		{Name: "overload-gemini", Class: OverloadClass, Status: 503, Body: google(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")},
		{Name: "overload-proxy", Class: OverloadClass, Status: 502, Header: html, Body: proxyPage},
		{Name: "overload-cloudflare", Class: OverloadClass, Status: 524, Header: html, Body: proxyPage},
		{Name: "overload-openai", Class: OverloadClass, Status: 500, Body: openAI("The server had an error while processing your request. Sorry about that!", "server_error", "")},
		{Name: "overload-empty", Class: OverloadClass, Status: 500},
	}
}

// proxyPage is what proxies answer where an API should.
const proxyPage = "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n"

// nearContextFailures speak of lengths, limits or tokens, and mean something
// else.
func nearContextFailures() []Failure {
	const invalid = "invalid_request_error"
	list := []struct {
		name, body string
	}{
		{"long-string", openAI("Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead. (string_above_max_length)", invalid, "string_above_max_length")},
		{"long-call-id", openAI("Invalid 'messages[3].tool_call_id': string too long. Expected a string with maximum length 40, but got a string with length 59 instead.", invalid, "string_above_max_length")},
		{"output-anthropic", anthropic(invalid, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5")},
		{"output-openai", openAI("max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", invalid, "invalid_value")},
		{"output-groq", openAI("`max_completion_tokens` must be less than or equal to `32768`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model", invalid, "")},
		{"output-dashscope", openAI("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65536]", invalid, "invalid_parameter_error")},
		{"output-deepseek", openAI("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", invalid, invalid)},
		{"many-tools", openAI("Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.", invalid, "array_above_max_length")},
		{"many-images", anthropic(invalid, "messages.0.content.21.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")},
		{"image-size", anthropic(invalid, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes")},
		{"tool-name", openAI("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.", invalid, "string_above_max_length")},
		{"thinking-budget", anthropic(invalid, "`max_tokens` must be greater than `thinking.budget_tokens`.")},
	}
	out := make([]Failure, 0, len(list))
	for _, f := range list {
		out = append(out, Failure{Name: "request-" + f.name, Class: RequestClass, Status: http.StatusBadRequest, Body: f.body})
	}
	return out
}

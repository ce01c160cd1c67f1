//go:build e2e && linux

package providers_test

import "strings"

// The keys of every profile; what is compared has their names instead.
const (
	key          = "sk-test-0123456789"
	awsID        = "AKIDEXAMPLE0123"
	awsSecret    = "aws-secret-0123456789"
	conversation = "11111111-2222-3333-4444-555555555555"
)

// The kinds of a case's profile, beside the model.
const (
	ordinary = ""
	gateway  = `"base_url":"http://gateway.example:8000/v1"`
	proxy    = `"base_url":"http://litellm.example:4000"`
	azure    = `"base_url":"https://res.openai.azure.com"`
	aws      = `"api_key":null,"aws_access_key_id":"` + awsID + `","aws_secret_access_key":"` + awsSecret + `","aws_region_name":"eu-central-1"`
	keyless  = `"api_key":null`
)

// modelCase is one model string with what else its profile says.
type modelCase struct {
	model  string
	fields string // members of the profile's JSON object
	note   string // tells cases of one model apart, in the table of differences
}

// name is what the table of differences and the summary call the case.
func (c modelCase) name() string {
	if c.note != "" {
		return c.model + "#" + c.note
	}
	return c.model
}

func (c modelCase) provider() string {
	provider, _, found := strings.Cut(c.model, "/")
	if !found {
		return "-"
	}
	return provider
}

// cases are the models that are compared.
func cases() []modelCase {
	var out []modelCase
	for _, group := range []struct {
		fields string
		models string
	}{
		{ordinary, `
			gpt-4o gpt-5.2 claude-sonnet-4-5-20250929 gemini-2.5-pro
			openai/gpt-4o openai/gpt-4o-mini openai/gpt-4.1 openai/gpt-5 openai/gpt-5-mini openai/gpt-5.2 openai/gpt-5.2-codex openai/gpt-5.5
			openai/o3 openai/o4-mini openai/codex-mini-latest
			anthropic/claude-opus-4-8 anthropic/claude-opus-4-5-20251101 anthropic/claude-opus-4-1-20250805 anthropic/claude-sonnet-4-6
			anthropic/claude-sonnet-4-5-20250929 anthropic/claude-sonnet-4-20250514 anthropic/claude-haiku-4-5-20251001
			anthropic/claude-3-haiku-20240307 anthropic/claude-3-7-sonnet-20250219
			gemini/gemini-2.5-pro gemini/gemini-2.5-flash gemini/gemini-2.0-flash gemini/gemini-3-pro-preview gemini/gemini-3.1-pro-preview gemini/gemini-3-flash-preview
			openrouter/anthropic/claude-sonnet-4.5 openrouter/anthropic/claude-opus-4.5 openrouter/openai/gpt-4o openrouter/openai/gpt-5 openrouter/google/gemini-2.5-pro
			openrouter/qwen/qwen3-coder openrouter/minimax/minimax-m2 openrouter/deepseek/deepseek-chat openrouter/x-ai/grok-4 openrouter/moonshotai/kimi-k2-thinking
			groq/llama-3.3-70b-versatile groq/openai/gpt-oss-120b groq/moonshotai/kimi-k2-instruct groq/qwen/qwen3-32b
			xai/grok-4 xai/grok-4-fast-reasoning xai/grok-code-fast-1 xai/grok-3-mini
			deepseek/deepseek-chat deepseek/deepseek-reasoner
			moonshot/kimi-k2-0905-preview moonshot/kimi-k2-thinking moonshot/kimi-k2.5 moonshot/kimi-k2.6
			mistral/mistral-large-latest mistral/devstral-medium-2512 mistral/devstral-small-2507 mistral/magistral-medium-2509 mistral/pixtral-large-latest codestral/codestral-latest
			minimax/MiniMax-M2 minimax/MiniMax-M2.1 zai/glm-4.6 zai/glm-4.5 zai/glm-4.5v
			dashscope/qwen3-coder-plus dashscope/qwen-max dashscope/qwen3-max
			together_ai/Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8 together_ai/openai/gpt-oss-120b
			fireworks_ai/accounts/fireworks/models/qwen3-coder-480b-a35b-instruct fireworks_ai/accounts/fireworks/models/kimi-k2-instruct
			perplexity/sonar-pro nvidia_nim/meta/llama-3.3-70b-instruct nvidia_nim/moonshotai/kimi-k2-instruct cerebras/gpt-oss-120b cerebras/qwen-3-coder-480b
			sambanova/Meta-Llama-3.3-70B-Instruct sambanova/DeepSeek-V3.1 huggingface/Qwen/Qwen3-Coder-480B-A35B-Instruct
			volcengine/doubao-seed-1-6 openhands/claude-sonnet-4-5-20250929 openhands/claude-opus-4-8 openhands/gpt-5.5 openhands/gemini-3-pro-preview
			openhands/kimi-k2-0711-preview openhands/qwen3-coder-480b openhands/devstral-medium-2512
		`},
		{aws, `
			bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock/us.anthropic.claude-opus-4-8 bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0
			bedrock/anthropic.claude-3-sonnet-20240229-v1:0 bedrock/amazon.nova-pro-v1:0 bedrock/us.amazon.nova-premier-v1:0
			bedrock/us-east-1/anthropic.claude-3-5-haiku-20241022-v1:0 bedrock/converse/qwen.qwen3-coder-480b-a35b-v1:0 bedrock/openai.gpt-oss-120b-1:0
		`},
		{azure, `azure/gpt-4o azure/gpt-4.1 azure/o4-mini azure/gpt-5 azure/gpt-5.2`},
		{proxy, `litellm_proxy/claude-sonnet-4-5-20250929 litellm_proxy/prod/claude-opus-4-8 litellm_proxy/gpt-5.2 litellm_proxy/gpt-4o litellm_proxy/gemini-2.5-pro litellm_proxy/own`},
		{gateway, `openai/my-model openai/claude-sonnet-4-5 openai/gpt-oss-120b hosted_vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct hosted_vllm/openai/gpt-oss-20b Qwen/Qwen3-8B`},
		{keyless, `ollama/qwen3:8b ollama_chat/qwen3:8b ollama_chat/gpt-oss:20b`},
		{keyless + `,"base_url":"http://localhost:1234/v1"`, `lm_studio/qwen3-coder-30b`},
	} {
		for _, model := range strings.Fields(group.models) {
			out = append(out, modelCase{model: model, fields: group.fields})
		}
	}
	return append(out,
		modelCase{"openai/gpt-4o", `"temperature":0.5,"top_p":0.9,"seed":7,"max_output_tokens":1000`, "sampling"},
		modelCase{"openai/gpt-5.2", `"api_mode":"chat","reasoning_effort":"low"`, "chat"},
		modelCase{"openrouter/openai/gpt-5", `"api_mode":"chat"`, "chat"},
		modelCase{"openai/gpt-5.2", `"reasoning_summary":"auto","prompt_cache_retention":null`, "summary"},
		modelCase{"openai/gemini-3-pro-preview", `"base_url":"https://generativelanguage.googleapis.com/v1beta/openai"`, "openai-url"},
		modelCase{"anthropic/claude-haiku-4-5", `"extended_thinking_budget":5000`, "budget"},
		modelCase{"anthropic/claude-3-haiku-20240307", `"temperature":0.2,"top_k":3,"caching_prompt":false`, "sampling"},
		modelCase{"gemini/gemini-2.5-flash", `"reasoning_effort":"low","temperature":0.5,"top_k":5`, "low"},
		modelCase{"mistral/mistral-large-latest", `"base_url":"https://api.mistral.ai"`, "no-v1"},
		modelCase{"azure/gpt-5.2", azure + `,"api_version":"2025-04-01-preview"`, "version"},
		modelCase{"deepseek/deepseek-chat", `"disable_vision":true,"temperature":0.1`, "sampling"},
	)
}

// hosts are the names under which both sides reach the recorder.
func hosts() []string {
	return strings.Fields(`
		api.openai.com api.anthropic.com generativelanguage.googleapis.com openrouter.ai api.groq.com api.x.ai api.deepseek.com
		api.moonshot.ai api.mistral.ai codestral.mistral.ai api.minimax.io api.z.ai dashscope-intl.aliyuncs.com dashscope.aliyuncs.com
		api.together.xyz api.fireworks.ai api.perplexity.ai integrate.api.nvidia.com api.cerebras.ai api.sambanova.ai router.huggingface.co
		ark.cn-beijing.volces.com llm-proxy.app.all-hands.dev res.openai.azure.com litellm.example gateway.example
		bedrock-runtime.eu-central-1.amazonaws.com bedrock-runtime.us-east-1.amazonaws.com bedrock-runtime.us-west-2.amazonaws.com
	`)
}

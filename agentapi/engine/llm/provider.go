package llm

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/chat"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/gemini"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/messages"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/responses"
)

// style is which dialect a provider speaks.
type style int

const (
	chatStyle style = iota
	responsesStyle
	messagesStyle
	geminiStyle
	converseStyle
)

// provider is what is known of one prefix of model names. The names are
// LiteLLM's, whose models OpenHands' profiles name.
type provider struct {
	prefix  string
	style   style
	base    string   // base URL; empty: the profile must have one
	baseVar []string // environment variables with another one
	keyVar  string   // environment variable that people know its key by
	keyless bool     // answers without a key
	path    string   // added to a base URL that has no path
	hosts   []string // others of its own, by which "openai" with a base URL is known too

	// Which of the options a strict server would refuse.
	maxCompletion bool   // the output limit has OpenAI's newer name
	topK          bool   // takes top_k
	cacheKeys     bool   // takes OpenAI's cache options
	cacheKey      bool   // takes only the key of them
	effort        string // models that take reasoning_effort: part of their names; "*" for all
	responses     bool   // has the Responses API

	// What it does not take, or takes in another way.
	noStreamOptions bool // refuses stream_options
	noNames         bool // refuses names in messages of tools
	noTools         bool // has no function calling: tools are offered as text
	plainText       bool // takes contents without images as strings only
	plainAnswers    bool // ... the assistant's only
	randomSeed      bool // calls seed random_seed
	plainSchemas    bool // refuses $schema and $id in schemas
	thinkTags       bool // has thoughts in the content, and wants them back there
	fill            wire.Fill
	local           bool // a server of the user's, with limits of its own

	proxy  bool // LiteLLM's proxy: takes thinking blocks and budgets, says what a call cost
	priced bool // sells the models at their makers' prices
}

// providers lists the providers that are supported.
func providers() []provider {
	return []provider{
		{
			prefix: "openhands", base: "https://llm-proxy.app.all-hands.dev", keyVar: "LITELLM_PROXY_API_KEY",
			maxCompletion: true, topK: true, cacheKeys: true, effort: "*", responses: true, proxy: true, priced: true,
		},
		{
			prefix: "litellm_proxy", baseVar: []string{"LITELLM_PROXY_API_BASE"}, keyVar: "LITELLM_PROXY_API_KEY", keyless: true,
			maxCompletion: true, topK: true, cacheKeys: true, effort: "*", responses: true, proxy: true,
		},
		{
			prefix: "openai", base: "https://api.openai.com/v1", baseVar: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}, keyVar: "OPENAI_API_KEY",
			maxCompletion: true, cacheKeys: true, effort: "*", responses: true, priced: true,
		},
		{
			prefix: "azure", baseVar: []string{"AZURE_API_BASE"}, keyVar: "AZURE_API_KEY",
			cacheKeys: true, effort: "*", responses: true, priced: true,
		},
		{
			prefix: "anthropic", style: messagesStyle, base: "https://api.anthropic.com", baseVar: []string{"ANTHROPIC_API_BASE"}, keyVar: "ANTHROPIC_API_KEY",
			topK: true, effort: "*", priced: true,
		},
		{
			prefix: "gemini", style: geminiStyle, base: "https://generativelanguage.googleapis.com/v1beta", keyVar: "GEMINI_API_KEY",
			topK: true, effort: "*", priced: true,
		},
		{prefix: "bedrock", style: converseStyle, keyVar: "AWS_BEARER_TOKEN_BEDROCK", topK: true, effort: "*", priced: true},
		{
			prefix: "openrouter", base: "https://openrouter.ai/api/v1", baseVar: []string{"OPENROUTER_API_BASE"}, keyVar: "OPENROUTER_API_KEY",
			maxCompletion: true, topK: true, effort: "*", cacheKey: true,
		},
		{
			// OpenHands' prefix: to LiteLLM it is "openai" with this base URL.
			prefix: "digitalocean", base: "https://inference.do-ai.run/v1", keyVar: "DIGITALOCEAN_API_KEY",
			maxCompletion: true, effort: "*", responses: true,
		},
		{prefix: "groq", base: "https://api.groq.com/openai/v1", baseVar: []string{"GROQ_API_BASE"}, keyVar: "GROQ_API_KEY", maxCompletion: true, effort: "gpt-oss"},
		{prefix: "xai", base: "https://api.x.ai/v1", baseVar: []string{"XAI_API_BASE"}, keyVar: "XAI_API_KEY", effort: "grok-3-mini", priced: true, noNames: true, hosts: []string{"us-east-1.api.x.ai", "eu-west-1.api.x.ai"}},
		{prefix: "deepseek", base: "https://api.deepseek.com", baseVar: []string{"DEEPSEEK_API_BASE"}, keyVar: "DEEPSEEK_API_KEY", priced: true, plainText: true, fill: wire.FillAll},
		{prefix: "moonshot", base: "https://api.moonshot.ai/v1", baseVar: []string{"MOONSHOT_API_BASE"}, keyVar: "MOONSHOT_API_KEY", priced: true, plainText: true, fill: wire.FillCalls, cacheKey: true, hosts: []string{"api.moonshot.cn"}},
		{prefix: "mistral", base: "https://api.mistral.ai/v1", baseVar: []string{"MISTRAL_API_BASE"}, keyVar: "MISTRAL_API_KEY", priced: true, path: "/v1", noStreamOptions: true, plainText: true, randomSeed: true, plainSchemas: true},
		{prefix: "codestral", base: "https://codestral.mistral.ai/v1", baseVar: []string{"CODESTRAL_API_BASE"}, keyVar: "CODESTRAL_API_KEY", path: "/v1", noStreamOptions: true, plainText: true, randomSeed: true, plainSchemas: true},
		{prefix: "minimax", base: "https://api.minimax.io/v1", baseVar: []string{"MINIMAX_API_BASE"}, keyVar: "MINIMAX_API_KEY", priced: true, thinkTags: true, hosts: []string{"api.minimaxi.com", "api.minimax.chat"}},
		{prefix: "zai", base: "https://api.z.ai/api/paas/v4", baseVar: []string{"ZAI_API_BASE"}, keyVar: "ZAI_API_KEY", priced: true, hosts: []string{"open.bigmodel.cn"}},
		{prefix: "dashscope", base: "https://dashscope.aliyuncs.com/compatible-mode/v1", baseVar: []string{"DASHSCOPE_API_BASE"}, keyVar: "DASHSCOPE_API_KEY", topK: true, hosts: []string{"dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}},
		{prefix: "together_ai", base: "https://api.together.xyz/v1", baseVar: []string{"TOGETHER_AI_API_BASE"}, keyVar: "TOGETHER_API_KEY", topK: true, effort: "gpt-oss"},
		{prefix: "fireworks_ai", base: "https://api.fireworks.ai/inference/v1", baseVar: []string{"FIREWORKS_API_BASE"}, keyVar: "FIREWORKS_API_KEY", topK: true, cacheKey: true, effort: "gpt-oss"},
		{prefix: "perplexity", base: "https://api.perplexity.ai", keyVar: "PERPLEXITYAI_API_KEY", noStreamOptions: true, noTools: true},
		{prefix: "nvidia_nim", base: "https://integrate.api.nvidia.com/v1", baseVar: []string{"NVIDIA_NIM_API_BASE"}, keyVar: "NVIDIA_NIM_API_KEY", noStreamOptions: true},
		{prefix: "cerebras", base: "https://api.cerebras.ai/v1", baseVar: []string{"CEREBRAS_API_BASE"}, keyVar: "CEREBRAS_API_KEY", maxCompletion: true, effort: "gpt-oss", noStreamOptions: true},
		{prefix: "sambanova", base: "https://api.sambanova.ai/v1", baseVar: []string{"SAMBANOVA_API_BASE"}, keyVar: "SAMBANOVA_API_KEY", plainText: true},
		{prefix: "huggingface", base: "https://router.huggingface.co/v1", keyVar: "HF_TOKEN"},
		{prefix: "volcengine", base: "https://ark.cn-beijing.volces.com/api/v3", baseVar: []string{"VOLCENGINE_API_BASE"}, keyVar: "VOLCENGINE_API_KEY"},
		{prefix: "hosted_vllm", baseVar: []string{"HOSTED_VLLM_API_BASE"}, keyVar: "HOSTED_VLLM_API_KEY", keyless: true, path: "/v1", topK: true, effort: "gpt-oss", plainAnswers: true, local: true},
		{prefix: "lm_studio", base: "http://localhost:1234", baseVar: []string{"LM_STUDIO_API_BASE"}, keyVar: "LM_STUDIO_API_KEY", keyless: true, path: "/v1", topK: true, effort: "gpt-oss", local: true},
		{prefix: "ollama", base: "http://localhost:11434", baseVar: []string{"OLLAMA_API_BASE"}, keyVar: "OLLAMA_API_KEY", keyless: true, path: "/v1", effort: "gpt-oss", local: true},
		{prefix: "ollama_chat", base: "http://localhost:11434", baseVar: []string{"OLLAMA_API_BASE"}, keyVar: "OLLAMA_API_KEY", keyless: true, path: "/v1", effort: "gpt-oss", local: true},
	}
}

// unsupported says, for people, what to do about providers that are known and
// not spoken to.
func unsupported(prefix string) string {
	const viaProxy = "put a LiteLLM proxy in front of it and use litellm_proxy/NAME"
	switch prefix {
	case "vertex_ai", "vertex_ai_beta":
		return "Vertex AI needs a Google service account login, which ohgw does not support: use gemini/NAME with a Google AI Studio key, or " + viaProxy
	case "azure_ai":
		return "use azure/DEPLOYMENT for models of Azure OpenAI, openai/NAME with the base_url of its OpenAI endpoint for others, or " + viaProxy
	case "sagemaker", "sagemaker_chat", "watsonx", "databricks", "snowflake", "replicate", "cohere", "cohere_chat", "github", "github_copilot", "chatgpt":
		return viaProxy
	}
	return "if it has an OpenAI-compatible API, use openai/NAME and set base_url; else " + viaProxy
}

// takesEffort reports whether the provider takes reasoning_effort for a model.
func (p provider) takesEffort(model string) bool {
	return p.effort == "*" || p.effort != "" && strings.Contains(model, p.effort)
}

// dialect makes the dialect in which a model is called.
func (r route) dialect(f features) wire.Dialect {
	p := r.provider
	switch r.style {
	case responsesStyle:
		return responses.Dialect{}
	case messagesStyle:
		return messages.Dialect{}
	case geminiStyle:
		return gemini.Dialect{Levels: f.thinkingLevels}
	case converseStyle:
		return converse.Dialect{}
	case chatStyle:
	}
	router := p.prefix == "openrouter"
	d := chat.Dialect{
		MaxTokens: "max_tokens", TopK: p.topK, UsageCost: router, MarksInside: router, Sessions: router,
		NoStreamOptions: p.noStreamOptions, NoNames: p.noNames, RandomSeed: p.randomSeed, PlainSchemas: p.plainSchemas, ThinkTags: p.thinkTags,
		Signatures: r.signatures(),
	}
	if p.maxCompletion || p.prefix == "azure" && f.reasons {
		d.MaxTokens = "max_completion_tokens"
	}
	if router {
		d.Details = vendorOf(r.model)
	}
	return d
}

// signatures is where the signatures of Gemini's thoughts go in a chat.
func (r route) signatures() chat.Signatures {
	switch {
	case r.provider.proxy:
		return chat.InIDs
	case !strings.Contains(r.model, "gemini") || r.provider.prefix == "openrouter":
		return chat.Dropped
	case strings.Contains(r.url, "://"+googleHost+"/"):
		return chat.Apart
	}
	return chat.Beside
}

// googleHost serves Gemini by an API like OpenAI's too.
const googleHost = "generativelanguage.googleapis.com"

// vendorOf is the maker of a model as OpenRouter names it.
func vendorOf(model string) chat.Vendor {
	switch {
	case strings.Contains(model, "claude"):
		return chat.Anthropic
	case strings.Contains(model, "gemini"):
		return chat.Google
	case strings.HasPrefix(model, "openai/"):
		return chat.OpenAI
	case strings.HasPrefix(model, "x-ai/"):
		return chat.XAI
	}
	return ""
}

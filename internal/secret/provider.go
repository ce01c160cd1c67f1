package secret

import "strings"

// Provider is what LiteLLM, which OpenHands calls models with, knows about the
// keys of one provider.
type Provider struct {
	Prefix  string   // of models, without the slash
	Keys    []string // environment variables; the first that is set wins
	OwnHost bool     // its models run wherever the user says: there is no host that a key belongs to
	Keyless bool     // works without a key, or with credentials that the system has for it
}

// Providers are the providers and variables of LiteLLM 1.93.0, in its order,
// as found in its source. OpenHands 1.43.1 installs that release.
func Providers() []Provider {
	return []Provider{
		{Prefix: "openhands", Keys: []string{"LITELLM_PROXY_API_KEY"}},
		{Prefix: "litellm_proxy", Keys: []string{"LITELLM_PROXY_API_KEY"}, OwnHost: true},
		{Prefix: "openai", Keys: []string{"OPENAI_API_KEY"}},
		{Prefix: "anthropic", Keys: []string{"ANTHROPIC_API_KEY"}},
		{Prefix: "azure", Keys: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, OwnHost: true},
		{Prefix: "azure_ai", Keys: []string{"AZURE_AI_API_KEY"}, OwnHost: true},
		{Prefix: bedrock, Keys: []string{"AWS_BEARER_TOKEN_BEDROCK"}, Keyless: true},
		{Prefix: "vertex_ai", Keyless: true},
		{Prefix: "gemini", Keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}},
		{Prefix: "mistral", Keys: []string{"MISTRAL_API_KEY"}},
		{Prefix: "codestral", Keys: []string{"CODESTRAL_API_KEY"}},
		{Prefix: "deepseek", Keys: []string{"DEEPSEEK_API_KEY"}},
		{Prefix: "groq", Keys: []string{"GROQ_API_KEY"}},
		{Prefix: "cohere", Keys: []string{"COHERE_API_KEY", "CO_API_KEY"}},
		{Prefix: "together_ai", Keys: []string{"TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"}},
		{Prefix: "fireworks_ai", Keys: []string{"FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"}},
		{Prefix: "openrouter", Keys: []string{"OPENROUTER_API_KEY"}},
		{Prefix: "perplexity", Keys: []string{"PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"}},
		{Prefix: "xai", Keys: []string{"XAI_API_KEY"}},
		{Prefix: "moonshot", Keys: []string{"MOONSHOT_API_KEY"}},
		{Prefix: "minimax", Keys: []string{"MINIMAX_API_KEY"}},
		{Prefix: "zai", Keys: []string{"ZAI_API_KEY"}},
		{Prefix: "dashscope", Keys: []string{"DASHSCOPE_API_KEY"}},
		{Prefix: "nvidia_nim", Keys: []string{"NVIDIA_NIM_API_KEY"}},
		{Prefix: "cerebras", Keys: []string{"CEREBRAS_API_KEY"}},
		{Prefix: "sambanova", Keys: []string{"SAMBANOVA_API_KEY"}},
		{Prefix: "databricks", Keys: []string{"DATABRICKS_API_KEY"}, OwnHost: true},
		{Prefix: "huggingface", Keys: []string{"HF_TOKEN", "HUGGINGFACE_API_KEY"}},
		{Prefix: "replicate", Keys: []string{"REPLICATE_API_KEY", "REPLICATE_API_TOKEN"}},
		{Prefix: "github", Keys: []string{"GITHUB_API_KEY"}},
		{Prefix: "volcengine", Keys: []string{"VOLCENGINE_API_KEY"}},
		{Prefix: "snowflake", Keys: []string{"SNOWFLAKE_JWT"}, OwnHost: true},
		{Prefix: "hosted_vllm", Keys: []string{"HOSTED_VLLM_API_KEY"}, OwnHost: true, Keyless: true},
		{Prefix: "lm_studio", Keys: []string{"LM_STUDIO_API_KEY"}, OwnHost: true, Keyless: true},
		{Prefix: "ollama", Keys: []string{"OLLAMA_API_KEY"}, OwnHost: true, Keyless: true},
		{Prefix: "ollama_chat", Keys: []string{"OLLAMA_API_KEY"}, OwnHost: true, Keyless: true},
	}
}

// bedrock has three secrets of its own beside an API key.
const bedrock = "bedrock"

// variables are the environment variables of one field.
func (p Provider) variables(field string) []string {
	if field == APIKey {
		return p.Keys
	}
	if p.Prefix != bedrock {
		return nil
	}
	return []string{strings.ToUpper(field)} // aws_session_token is AWS_SESSION_TOKEN
}

// ProviderOf is the provider of a model: what stands before its first slash,
// or OpenAI for a bare name.
func ProviderOf(model string) string {
	provider, _, found := strings.Cut(model, "/")
	if !found {
		return "openai"
	}
	return provider
}

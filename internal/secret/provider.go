package secret

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Provider is what LiteLLM, which OpenHands calls models with, knows about the
// keys of one provider.
type Provider struct {
	Prefix  string   // of models, without the slash
	Keys    []string // environment variables; the first that is set wins
	Hosts   []string // where its keys belong
	Bases   []string // environment variables with another base URL; the first that is set wins
	OwnHost bool     // its models run wherever the user says: a key belongs to any host
	Keyless bool     // works without a key, or with credentials that the system has for it
}

// Providers lists the providers and variables of LiteLLM 1.93.0, in its order, as
// found in its source. OpenHands 1.43.1 installs that release.
func Providers() []Provider {
	return []Provider{
		{Prefix: "openhands", Keys: []string{"LITELLM_PROXY_API_KEY"}, Hosts: []string{"llm-proxy.app.all-hands.dev"}},
		{Prefix: "litellm_proxy", Keys: []string{"LITELLM_PROXY_API_KEY"}, Bases: []string{"LITELLM_PROXY_API_BASE"}, OwnHost: true},
		{Prefix: "openai", Keys: []string{"OPENAI_API_KEY"}, Hosts: []string{"api.openai.com"}, Bases: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}},
		{Prefix: "anthropic", Keys: []string{"ANTHROPIC_API_KEY"}, Hosts: []string{"api.anthropic.com"}, Bases: []string{"ANTHROPIC_API_BASE"}},
		{Prefix: "azure", Keys: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, Bases: []string{"AZURE_API_BASE"}, OwnHost: true},
		{Prefix: "azure_ai", Keys: []string{"AZURE_AI_API_KEY"}, OwnHost: true},
		{Prefix: bedrock, Keys: []string{"AWS_BEARER_TOKEN_BEDROCK"}, Keyless: true},
		{Prefix: "vertex_ai", Keyless: true},
		{Prefix: "gemini", Keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, Hosts: []string{"generativelanguage.googleapis.com"}},
		{Prefix: "mistral", Keys: []string{"MISTRAL_API_KEY"}, Hosts: []string{"api.mistral.ai"}, Bases: []string{"MISTRAL_API_BASE"}},
		{Prefix: "codestral", Keys: []string{"CODESTRAL_API_KEY"}, Hosts: []string{"codestral.mistral.ai"}, Bases: []string{"CODESTRAL_API_BASE"}},
		{Prefix: "deepseek", Keys: []string{"DEEPSEEK_API_KEY"}, Hosts: []string{"api.deepseek.com"}, Bases: []string{"DEEPSEEK_API_BASE"}},
		{Prefix: "groq", Keys: []string{"GROQ_API_KEY"}, Hosts: []string{"api.groq.com"}, Bases: []string{"GROQ_API_BASE"}},
		{Prefix: "cohere", Keys: []string{"COHERE_API_KEY", "CO_API_KEY"}, Hosts: []string{"api.cohere.ai", "api.cohere.com"}},
		{Prefix: "together_ai", Keys: []string{"TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"}, Hosts: []string{"api.together.xyz"}, Bases: []string{"TOGETHER_AI_API_BASE"}},
		{Prefix: "fireworks_ai", Keys: []string{"FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"}, Hosts: []string{"api.fireworks.ai"}, Bases: []string{"FIREWORKS_API_BASE"}},
		{Prefix: "openrouter", Keys: []string{"OPENROUTER_API_KEY"}, Hosts: []string{"openrouter.ai"}, Bases: []string{"OPENROUTER_API_BASE"}},
		{Prefix: "digitalocean", Keys: []string{"DIGITALOCEAN_API_KEY"}, Hosts: []string{"inference.do-ai.run"}}, // OpenHands' own prefix
		{Prefix: "perplexity", Keys: []string{"PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"}, Hosts: []string{"api.perplexity.ai"}},
		{Prefix: "xai", Keys: []string{"XAI_API_KEY"}, Hosts: []string{"api.x.ai"}, Bases: []string{"XAI_API_BASE"}},
		{Prefix: "moonshot", Keys: []string{"MOONSHOT_API_KEY"}, Hosts: []string{"api.moonshot.ai"}, Bases: []string{"MOONSHOT_API_BASE"}},
		{Prefix: "minimax", Keys: []string{"MINIMAX_API_KEY"}, Hosts: []string{"api.minimax.io", "api.minimaxi.com"}, Bases: []string{"MINIMAX_API_BASE"}},
		{Prefix: "zai", Keys: []string{"ZAI_API_KEY"}, Hosts: []string{"api.z.ai"}, Bases: []string{"ZAI_API_BASE"}},
		{Prefix: "dashscope", Keys: []string{"DASHSCOPE_API_KEY"}, Hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"}, Bases: []string{"DASHSCOPE_API_BASE"}},
		{Prefix: "nvidia_nim", Keys: []string{"NVIDIA_NIM_API_KEY"}, Hosts: []string{"integrate.api.nvidia.com"}, Bases: []string{"NVIDIA_NIM_API_BASE"}},
		{Prefix: "cerebras", Keys: []string{"CEREBRAS_API_KEY"}, Hosts: []string{"api.cerebras.ai"}, Bases: []string{"CEREBRAS_API_BASE"}},
		{Prefix: "sambanova", Keys: []string{"SAMBANOVA_API_KEY"}, Hosts: []string{"api.sambanova.ai"}, Bases: []string{"SAMBANOVA_API_BASE"}},
		{Prefix: "databricks", Keys: []string{"DATABRICKS_API_KEY"}, OwnHost: true},
		{Prefix: "huggingface", Keys: []string{"HF_TOKEN", "HUGGINGFACE_API_KEY"}, Hosts: []string{"router.huggingface.co", "api-inference.huggingface.co"}},
		{Prefix: "replicate", Keys: []string{"REPLICATE_API_KEY", "REPLICATE_API_TOKEN"}, Hosts: []string{"api.replicate.com"}},
		{Prefix: "github", Keys: []string{"GITHUB_API_KEY"}, Hosts: []string{"models.inference.ai.azure.com"}},
		{Prefix: "volcengine", Keys: []string{"VOLCENGINE_API_KEY"}, Hosts: []string{"ark.cn-beijing.volces.com"}, Bases: []string{"VOLCENGINE_API_BASE"}},
		{Prefix: "snowflake", Keys: []string{"SNOWFLAKE_JWT"}, OwnHost: true},
		{Prefix: "hosted_vllm", Keys: []string{"HOSTED_VLLM_API_KEY"}, Bases: []string{"HOSTED_VLLM_API_BASE"}, OwnHost: true, Keyless: true},
		{Prefix: "lm_studio", Keys: []string{"LM_STUDIO_API_KEY"}, Bases: []string{"LM_STUDIO_API_BASE"}, OwnHost: true, Keyless: true},
		{Prefix: "ollama", Keys: []string{"OLLAMA_API_KEY"}, Bases: []string{"OLLAMA_API_BASE"}, OwnHost: true, Keyless: true},
		{Prefix: "ollama_chat", Keys: []string{"OLLAMA_API_KEY"}, Bases: []string{"OLLAMA_API_BASE"}, OwnHost: true, Keyless: true},
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

// ownHost reports whether a base URL is at the provider itself, or wherever the
// user has put its models. An empty one is that of the provider.
func (p Provider) ownHost(base string) bool {
	if base == "" || p.OwnHost {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && p.hasHost(strings.ToLower(u.Hostname()))
}

// awsHost are the hosts of Bedrock, also those in a network of one's own. Other hosts
// below amazonaws.com belong to whoever rents them.
var awsHost = pattern.Of(`^(vpce-[a-z0-9-]+\.)?bedrock-runtime(-fips)?\.[a-z]{2}(-[a-z]+)+-[0-9]+\.(vpce\.)?amazonaws\.com(\.cn)?$`)

// hasHost reports whether a host, in lower case, is the provider's.
func (p Provider) hasHost(name string) bool {
	return slices.Contains(p.Hosts, name) || p.Prefix == bedrock && awsHost().MatchString(name)
}

// here reports whether a base URL is on this machine.
func here(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
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

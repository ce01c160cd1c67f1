package firstrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/setup"
)

// Compatible is the provider of any server with OpenAI's API: its profiles have
// a base URL.
const Compatible = "openai"

// Provider is a provider to choose from.
type Provider struct {
	llm.Provider

	KeyPage   string   // where people get a key; "" if unknown
	Variables []string // environment variables that hold a key
	Proposals []string // models, without the prefix, the best one first
}

// NeedsBaseURL reports whether only the user knows where its models are.
func (p Provider) NeedsBaseURL() bool { return p.Base == "" && p.Prefix != "bedrock" }

// Providers are the providers that the embedded agent supports, sorted.
func Providers() []Provider {
	var list []Provider
	for _, p := range llm.Providers() {
		list = append(list, Provider{
			Provider: p, KeyPage: keyPages()[p.Prefix], Variables: variables(p.Prefix), Proposals: Proposals(p.Prefix),
		})
	}
	return list
}

// ProviderNamed finds a provider by its prefix.
func ProviderNamed(prefix string) (Provider, bool) {
	all := Providers()
	at := slices.IndexFunc(all, func(p Provider) bool { return p.Prefix == prefix })
	if at < 0 {
		return Provider{}, false
	}
	return all[at], true
}

func variables(prefix string) []string {
	for _, p := range secret.Providers() {
		if p.Prefix == prefix {
			return p.Keys
		}
	}
	return nil
}

func keyPages() map[string]string {
	return map[string]string{
		"anthropic":    "https://console.anthropic.com/settings/keys",
		"cerebras":     "https://cloud.cerebras.ai",
		"deepseek":     "https://platform.deepseek.com/api_keys",
		"fireworks_ai": "https://app.fireworks.ai/settings/users/api-keys",
		"gemini":       "https://aistudio.google.com/apikey",
		"groq":         "https://console.groq.com/keys",
		"huggingface":  "https://huggingface.co/settings/tokens",
		"mistral":      "https://console.mistral.ai/api-keys",
		"moonshot":     "https://platform.moonshot.ai/console/api-keys",
		"openai":       "https://platform.openai.com/api-keys",
		"openhands":    "https://app.all-hands.dev/settings/api-keys",
		"openrouter":   "https://openrouter.ai/settings/keys",
		"together_ai":  "https://api.together.ai/settings/api-keys",
		"xai":          "https://console.x.ai",
	}
}

// Proposals lists models of a provider that are known here, the best one first. They
// stand where the provider has no list, and are looked for in its list.
func Proposals(prefix string) []string {
	if prefix+"/" == canon.OpenHands {
		return canon.Embedded().Current()
	}
	return map[string][]string{
		"anthropic":    {"claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5", "claude-sonnet-4-5"},
		"openai":       {"gpt-5.5", "gpt-5.1", "gpt-5", "gpt-5-mini"},
		"gemini":       {"gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash"},
		"deepseek":     {"deepseek-chat", "deepseek-reasoner"},
		"mistral":      {"devstral-medium-latest", "mistral-large-latest"},
		"codestral":    {"codestral-latest"},
		"xai":          {"grok-4", "grok-code-fast-1"},
		"moonshot":     {"kimi-k2.6", "kimi-k2-0905-preview"},
		"openrouter":   {"anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4.5", "openai/gpt-5.1"},
		"groq":         {"openai/gpt-oss-120b", "moonshotai/kimi-k2-instruct-0905"},
		"bedrock":      {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-opus-4-5-20251101-v1:0"},
		"digitalocean": {"anthropic-claude-sonnet-5.5", "openai-gpt-5.6-sol", "glm-5.3"},
		"perplexity":   {"sonar-pro", "sonar"},
		"zai":          {"glm-4.6"},
		"minimax":      {"MiniMax-M2"},
		"dashscope":    {"qwen3-coder-plus", "qwen-max"},
	}[prefix]
}

// Arrange puts the proposals of a provider that are in its list before the
// others.
func Arrange(models, proposals []string) []string {
	if len(models) == 0 {
		return slices.Clone(proposals)
	}
	var first []string
	for _, p := range proposals {
		if slices.Contains(models, p) {
			first = append(first, p)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(models), func(m string) bool { return slices.Contains(first, m) })
	return append(first, rest...)
}

// CheckProvider refuses a provider that nothing is known about. The error is a
// usage error.
func CheckProvider(prefix string) error {
	known := setup.ProviderPrefixes()
	for _, p := range llm.Providers() {
		known = append(known, p.Prefix)
	}
	if slices.Contains(known, prefix) {
		return nil
	}
	hint := "for another server with OpenAI's API, use the provider " + Compatible + " and --base-url URL"
	if near := suggest.Nearest(prefix, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fault.NewUsage(fmt.Sprintf("unknown provider %q", prefix), hint)
}

// CheckModel refuses the name of a model that no provider has. base is the
// profile's base URL: a server of the user's names its models as it likes. The
// error is a usage error.
func CheckModel(model, base string) error {
	prefix, rest, found := strings.Cut(model, "/")
	switch {
	case strings.ContainsAny(model, " ?*"):
		return fault.NewUsage(fmt.Sprintf("%q is not the name of a model", model), "write it as PROVIDER/NAME, such as anthropic/claude-sonnet-4-5")
	case base != "":
		return nil
	case !found && llm.MakerOf(model) == "":
		return fault.NewUsage(fmt.Sprintf("the model %q has no provider in its name", model), "write it as PROVIDER/NAME, such as openai/"+model)
	case !found:
		return nil
	case rest == "":
		return fault.NewUsage(fmt.Sprintf("the name of the model is missing in %q", model), "write it as PROVIDER/NAME, such as anthropic/claude-sonnet-4-5")
	}
	return CheckProvider(prefix)
}

// CheckBaseURL refuses what is not a URL of an API. The error is a usage error.
func CheckBaseURL(base string) error {
	if base == "" {
		return nil
	}
	if err := llm.CheckBaseURL(base); err != nil {
		return usage(err)
	}
	return nil
}

// Unfit finds what keeps any program from calling a model; it is for
// [profile.CheckOptions].
func Unfit(model, base string) []profile.Problem {
	var found []profile.Problem
	if err := CheckBaseURL(base); err != nil {
		found = append(found, problem("bad-base-url", profile.Error, err))
	}
	if err := CheckModel(model, base); err != nil {
		// An agent-server may know more providers.
		found = append(found, problem("unknown-model", profile.Warning, err))
	}
	return found
}

func problem(code string, severity profile.Severity, err error) profile.Problem {
	text := err.Error()
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		text = f.Msg + "; " + f.Hint
	}
	return profile.Problem{Code: code, Severity: severity, Text: text}
}

package llm

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/redact"
)

// route is where the calls of a profile go.
type route struct {
	provider provider
	style    style
	model    string // as the provider calls it
	url      string
	custom   bool // another host than the provider's own
	region   string
}

// routeOf finds the provider of a profile and the URL of its model.
func routeOf(p *Profile, f features, getenv func(string) string) (route, error) {
	prov, model, err := providerOf(p)
	if err != nil {
		return route{}, err
	}
	r := route{provider: prov, style: prov.style, model: model}
	if prov.responses && f.responses || p.APIMode == "responses" && prov.style == chatStyle {
		r.style = responsesStyle
	}
	if prov.style == converseStyle {
		return bedrockRoute(r, p, getenv)
	}
	base := baseURL(p, prov, getenv)
	if base == "" {
		return route{}, fault.New(fmt.Sprintf("the model %q needs a base URL", p.Model),
			"set base_url in the profile", nil)
	}
	u, err := parseBase(base)
	if err != nil {
		return route{}, err
	}
	if prov.prefix == "openai" {
		if known, ok := providerAt(u); ok {
			prov, r.provider = known, known
		}
	}
	r.custom = prov.base != "" && !strings.HasPrefix(prov.base, u.Scheme+"://"+u.Host)
	if u.Path == "" || u.Path == "/" {
		u.Path = prov.path
	}
	r.url = endpoint(u, r, apiVersion(p, r))
	return r, nil
}

// providerAt finds the provider whose host a base URL names: what it takes and
// refuses does not depend on the prefix of the profile's model.
func providerAt(u *url.URL) (provider, bool) {
	for _, known := range providers() {
		own, err := url.Parse(known.base)
		if err != nil || known.style != chatStyle || known.prefix == "openai" || known.local {
			continue
		}
		if u.Host == own.Host || slices.Contains(known.hosts, u.Host) {
			return known, true
		}
	}
	return provider{}, false
}

// firstResponses is the first version of Azure's API that has the Responses
// API; an older one in a profile is OpenHands' default, and answers 404.
const firstResponses = "2025-04-01-preview"

// apiVersion is the version of Azure's API for a call.
func apiVersion(p *Profile, r route) string {
	const date = len("2025-04-01")
	v := optional.Or(p.APIVersion, "")
	if r.style == responsesStyle && len(v) >= date && v[:date] < "2025-03-01" {
		return firstResponses
	}
	return v
}

// providerOf splits the model of a profile. A bare name that is well known has
// its maker's API; any other needs a base URL, of an OpenAI-compatible server.
func providerOf(p *Profile) (provider, string, error) {
	prefix, rest, found := strings.Cut(p.Model, "/")
	if !found {
		prefix, rest = MakerOf(p.Model), p.Model
	}
	for _, known := range providers() {
		if known.prefix == prefix && rest != "" {
			return known, rest, nil
		}
	}
	if optional.Or(p.BaseURL, "") != "" && unsupported(prefix) == unsupported("") {
		// The name of a model on a server of the user's, such as Qwen/Qwen3.
		local, _, err := providerOf(&Profile{Model: "openai/any"})
		return local, p.Model, err
	}
	if !found {
		return provider{}, "", fault.New(fmt.Sprintf("the model %q has no provider in its name", p.Model),
			"write it as PROVIDER/NAME, such as openai/"+p.Model, nil)
	}
	return provider{}, "", fault.New(fmt.Sprintf("models of %q are not supported", prefix), unsupported(prefix), nil)
}

// MakerOf returns the provider of a bare name that everybody knows; empty for another
// name.
func MakerOf(model string) string {
	for _, known := range []struct{ begin, provider string }{
		{"gpt-", "openai"},
		{"chatgpt-", "openai"},
		{"codex-", "openai"},
		{"o1", "openai"},
		{"o3", "openai"},
		{"o4", "openai"},
		{"claude-", "anthropic"},
		{"gemini-", "gemini"},
	} {
		if strings.HasPrefix(strings.ToLower(model), known.begin) {
			return known.provider
		}
	}
	return ""
}

// isOpenAIRoot is a base URL that OpenHands takes for none.
func isOpenAIRoot(p *Profile) bool {
	return strings.HasPrefix(p.Model, "openai/") && strings.TrimSuffix(optional.Or(p.BaseURL, ""), "/") == "https://api.openai.com"
}

// hasBaseURL reports whether the profile has a base URL of its own.
func hasBaseURL(p *Profile) bool {
	return strings.TrimSpace(optional.Or(p.BaseURL, "")) != "" && !isOpenAIRoot(p)
}

func baseURL(p *Profile, prov provider, getenv func(string) string) string {
	if hasBaseURL(p) {
		return strings.TrimSpace(*p.BaseURL)
	}
	if base := strings.TrimSpace(optional.Or(p.OllamaBaseURL, "")); base != "" && strings.HasPrefix(prov.prefix, "ollama") {
		return base
	}
	for _, name := range prov.baseVar {
		if base := strings.TrimSpace(getenv(name)); base != "" {
			return base
		}
	}
	return prov.base
}

func parseBase(base string) (*url.URL, error) {
	if err := CheckBaseURL(base); err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil { // CheckBaseURL has parsed it
		return nil, fault.New("the base URL is not a valid URL", urlForm, nil)
	}
	return u, nil
}

// urlForm is how a base URL is written.
const urlForm = "write the base URL as https://HOST/PATH or http://HOST:PORT/PATH"

// CheckBaseURL says, for people, why a base URL cannot be used. The error is a
// [*fault.Error].
func CheckBaseURL(base string) error {
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	shown := redact.Text(base)
	if _, after, found := strings.Cut(shown, "@"); found {
		shown = "…@" + after // before it may be a password
	}
	host, _, _ := strings.Cut(base, "/")
	switch {
	case strings.HasPrefix(base, "http://"), strings.HasPrefix(base, "https://"):
		return fault.New(fmt.Sprintf("the base URL %q is not a valid URL", shown), urlForm, nil)
	case strings.Contains(base, "://"):
		return fault.New(fmt.Sprintf("the base URL %q must begin with http:// or https://", shown), urlForm, nil)
	case !strings.ContainsAny(host, ".:") && host != "localhost" || strings.ContainsAny(base, " @"):
		return fault.New(fmt.Sprintf("%q is not a URL", shown), urlForm, nil)
	}
	scheme := "https://"
	if name, _, _ := strings.Cut(host, ":"); name == "localhost" || net.ParseIP(name) != nil {
		scheme = "http://"
	}
	return fault.New(fmt.Sprintf("the base URL %q needs http:// or https://", shown), "write it as "+scheme+shown+"", nil)
}

// azureV1 are the versions that stand for Azure's API without versions.
func azureV1(version string) bool {
	return version == "v1" || version == "latest" || version == "preview"
}

// endpoint builds the URL that a call is posted to.
func endpoint(u *url.URL, r route, apiVersion string) string {
	path := strings.TrimRight(u.EscapedPath(), "/")
	model := url.PathEscape(r.model)
	query := u.RawQuery
	leaf := "/chat/completions"
	if r.style == responsesStyle {
		leaf = "/responses"
	}
	switch {
	case r.style == messagesStyle:
		leaf = "/v1/messages"
		path = strings.TrimSuffix(path, "/v1")
	case r.provider.randomSeed && !strings.HasSuffix(path, "/v1") && !strings.HasSuffix(path, leaf):
		path += "/v1" // Mistral's base URLs are written with and without it
	case r.style == geminiStyle:
		leaf, query = "/models/"+model+":streamGenerateContent", "alt=sse"
	case r.provider.prefix == "azure" && !strings.HasSuffix(path, "/openai/v1"):
		switch {
		case azureV1(apiVersion):
			path = strings.TrimSuffix(path, "/openai") + "/openai/v1"
		default:
			if r.style == responsesStyle {
				path = strings.TrimSuffix(path, "/openai") + "/openai"
			} else if !strings.Contains(path, "/deployments/") {
				path = strings.TrimSuffix(path, "/openai") + "/openai/deployments/" + model
			}
			query = url.Values{"api-version": {apiVersion}}.Encode()
		}
	}
	if !strings.HasSuffix(path, leaf) {
		path += leaf
	}
	out := u.Scheme + "://"
	if u.User != nil {
		out += u.User.String() + "@"
	}
	out += u.Host + path
	if query != "" {
		out += "?" + query
	}
	return out
}

var awsRegion = pattern.Of(`^[a-z]{2}(-[a-z]+)+-\d$`)

// bedrockARN has the partition and the region of a model, a profile or a prompt.
var bedrockARN = pattern.Of(`^arn:(aws[a-z-]*):(?:bedrock|sagemaker):([a-z]{2}(?:-[a-z]+)+-\d):`)

// defaultRegion is LiteLLM's.
const defaultRegion = "us-west-2"

// bedrockRoute reads bedrock/MODEL, bedrock/converse/MODEL and
// bedrock/REGION/MODEL. The region of an ARN wins over all others.
func bedrockRoute(r route, p *Profile, getenv func(string) string) (route, error) {
	for _, way := range []string{"converse/", "invoke/"} {
		r.model = strings.TrimPrefix(r.model, way)
	}
	r.region = optional.Or(p.AWSRegion, "")
	if first, rest, found := strings.Cut(r.model, "/"); found && awsRegion().MatchString(first) {
		r.model = rest
		if r.region == "" {
			r.region = first
		}
	}
	host := ".amazonaws.com"
	if arn := bedrockARN().FindStringSubmatch(r.model); arn != nil {
		r.region = arn[2] // What the ARN names is nowhere else.
		if arn[1] == "aws-cn" {
			host += ".cn"
		}
	}
	for _, name := range []string{"AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		if r.region == "" {
			r.region = getenv(name)
		}
	}
	if r.region == "" {
		r.region = defaultRegion
	}
	base := "https://bedrock-runtime." + r.region + host
	for _, own := range []*string{p.BaseURL, p.AWSEndpoint} {
		if own != nil && *own != "" {
			base, r.custom = *own, true
		}
	}
	u, err := parseBase(base)
	if err != nil {
		return route{}, err
	}
	r.url = u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/") +
		"/model/" + converse.EscapeModel(r.model) + "/converse-stream"
	return r, nil
}

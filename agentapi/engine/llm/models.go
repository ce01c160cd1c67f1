package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/messages"
)

// Provider is a provider that profiles can name, for a list to choose from.
type Provider struct {
	Prefix  string // of model names, without the slash
	Base    string // its base URL; empty: the profile must have one
	Keyless bool   // answers without a key
}

// Providers returns the providers that are supported, sorted by their prefix.
func Providers() []Provider {
	known := providers()
	list := make([]Provider, 0, len(known))
	for _, p := range known {
		list = append(list, Provider{p.prefix, p.base, p.keyless})
	}
	slices.SortFunc(list, func(a, b Provider) int { return strings.Compare(a.Prefix, b.Prefix) })
	return list
}

// ErrNoList says that a provider has no list of its models.
var ErrNoList = errors.New("the provider has no list of models")

// maxList bounds what is read of a list of models, in bytes.
const maxList = 16 << 20

// ListModels asks the provider of a profile for the models that its key can
// use, and returns their names without the provider's prefix, sorted. The name
// behind the prefix in cfg.Profile.Model may be any. The error is ErrNoList, a
// [*fault.Error] for a profile that cannot work, or an [*Error]; the request
// ends with ctx.
func ListModels(ctx context.Context, cfg Config) ([]string, error) {
	made, err := New(cfg)
	if err != nil {
		return nil, err
	}
	m := made.(*model) // New makes no other
	address := m.route.listURL()
	if address == "" {
		return nil, ErrNoList
	}
	keys, err := m.credentials(ctx)
	if err != nil {
		return nil, err
	}
	body, err := m.exchange(ctx, http.MethodGet, address, nil, &keys, maxList)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, m.failure(err, keys)
	}
	return modelNames(body)
}

// AwaitModels is ListModels of a server that may load its model first: it is asked again
// until ctx ends. loads is called once then; it may be nil.
func AwaitModels(ctx context.Context, cfg Config, loads func()) ([]string, error) {
	for told := false; ; told = true {
		models, err := ListModels(ctx, cfg)
		if !IsLoading(err) {
			return models, err
		}
		if !told && loads != nil {
			loads()
		}
		if err := sleep(ctx, loadingPause); err != nil {
			return nil, err
		}
	}
}

// listURL is where the provider lists its models; empty if nowhere.
func (r *route) listURL() string {
	base, _, _ := strings.Cut(r.url, "?")
	switch {
	case r.style == converseStyle || r.provider.prefix == "azure" || r.provider.prefix == "perplexity":
		return ""
	case r.style == messagesStyle:
		return strings.TrimSuffix(base, "/messages") + "/models?limit=1000"
	case r.style == geminiStyle:
		base, _, _ = strings.Cut(base, "/models/")
		return base + "/models?pageSize=1000"
	}
	return r.api() + "/models"
}

// api is the address of an API of OpenAI's form, without the path of a call.
func (r *route) api() string {
	base, _, _ := strings.Cut(r.url, "?")
	return strings.TrimSuffix(strings.TrimSuffix(base, "/responses"), "/chat/completions")
}

// exchange makes a request to the provider beside its calls, with a JSON document unless it
// is nil. It reads the answer up to a number of bytes.
func (m *model) exchange(ctx context.Context, method, address string, document []byte, keys *credentials, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", m.cfg.UserAgent)
	if document != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if m.route.style == messagesStyle {
		req.Header.Set("Anthropic-Version", messages.Version)
	}
	authorize(req.Header, &m.route, keys)
	for name, v := range m.cfg.Profile.ExtraHeaders {
		req.Header.Set(name, v.Reveal())
	}
	resp, err := m.cfg.HTTP.Do(req)
	if err != nil {
		return nil, causeOf(ctx, ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	if resp.StatusCode != http.StatusOK {
		return nil, m.refusal(resp, resp.Body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, causeOf(ctx, ctx, err)
	}
	return body, nil
}

// listed is one model in a list: OpenAI's, Anthropic's and most others' have
// an id, Google's have a name.
type listed struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Methods []string `json:"supportedGenerationMethods"` // Google
}

// modelNames reads a list of models. Those that are not for chats are left out.
func modelNames(body []byte) ([]string, error) {
	var list struct {
		Data   []listed `json:"data"`
		Models []listed `json:"models"` // Google
	}
	if err := json.Unmarshal(body, &list); err != nil {
		if json.Unmarshal(body, &list.Data) != nil { // Together sends the list itself
			return nil, newError(CodeNoResponse, "the answer is not a list of models", err)
		}
	}
	var names []string
	for _, m := range slices.Concat(list.Data, list.Models) {
		name := m.ID
		if name == "" {
			name = strings.TrimPrefix(m.Name, "models/")
		}
		if name != "" && chats(name, m.Methods) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// chats reports whether a model is one to chat with, as far as its list says.
func chats(name string, methods []string) bool {
	if len(methods) > 0 && !slices.Contains(methods, "generateContent") {
		return false
	}
	return !contains(strings.ToLower(name), "embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "rerank",
		"-image", "sora-", "speech", "audio", "babbage", "davinci", "imagen", "veo-")
}

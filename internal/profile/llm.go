package profile

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// errNotRead takes the place of errors that could quote a value.
var errNotRead = errors.New("the entry cannot be read")

// allFields are the members of an entry that a release of OpenHands in use has.
func allFields() []shape.Field { return append(shape.LLM(), shape.LLMNewer()...) }

// badFields names the members of an entry that OpenHands refuses.
func badFields(entry jsonedit.Value) []string {
	var bad []string
	for _, f := range allFields() {
		if _, ok := f.Read(entry.Get(f.Name)); !ok {
			bad = append(bad, f.Name)
		}
	}
	return bad
}

// unknownFields names the members of an entry that OpenHands ignores and
// forgets when it writes the file the next time.
func unknownFields(entry jsonedit.Value) []string {
	known := map[string]bool{}
	for _, f := range allFields() {
		known[f.Name] = true
	}
	for _, name := range shape.LLMIgnored() {
		known[name] = true
	}
	var unknown []string
	for name := range entry.Members() {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// readLLM reads an entry, but not its secrets: only what they are. The error is
// a *shape.FieldError for the first member that OpenHands refuses.
func readLLM(entry jsonedit.Value, models *canon.List) (llmentry.LLM, error) {
	plain := map[string]json.RawMessage{}
	for _, f := range allFields() {
		value, ok := f.Read(entry.Get(f.Name))
		if !ok {
			return llmentry.LLM{}, &shape.FieldError{Field: f.Name}
		}
		switch {
		case f.Kind == shape.SecretKind, f.Kind == shape.HeadersKind, f.Kind == shape.FreeKind:
		case !entry.Get(f.Name).Exists(): // a limit that is not there differs from one of its default
		default:
			plain[f.Name] = value
		}
	}
	src, err := json.Marshal(plain)
	if err != nil {
		return llmentry.LLM{}, errNotRead
	}
	llm, err := llmentry.Read(src)
	if err != nil {
		return llmentry.LLM{}, errNotRead
	}
	readExtras(&llm, entry)
	for name, v := range llm.CapabilityOverrides {
		if n, ok := v.(float64); ok {
			llm.CapabilityOverrides[name] = n == 1
		}
	}
	if v := entry.Get(fallbackMember); v.Exists() && v.Kind() != jsonedit.Null {
		if llm.FallbackStrategy = readFallback(v); llm.FallbackStrategy == nil {
			return llmentry.LLM{}, &shape.FieldError{Field: fallbackMember}
		}
	}
	settle(&llm, models)
	return llm, nil
}

// readExtras reads what goes to the provider as it is, with its exact values.
func readExtras(llm *llmentry.LLM, entry jsonedit.Value) {
	if headers := entry.Get("extra_headers"); headers.Kind() == jsonedit.Object {
		llm.ExtraHeaders = map[string]secret.Value{}
		for name, v := range headers.Members() {
			text, _ := v.Text()
			llm.ExtraHeaders[name] = secret.New(text)
		}
	}
	if body := entry.Get("litellm_extra_body"); body.Kind() == jsonedit.Object {
		var members map[string]json.RawMessage
		if json.Unmarshal(body.Raw(), &members) == nil { // NaN, which Python reads, cannot be sent
			llm.ExtraBody = hidden.New(members)
		}
	}
}

const fallbackMember = "fallback_strategy"

// readFallback reads the fallback LLMs; nil for what OpenHands refuses.
func readFallback(v jsonedit.Value) *llmentry.FallbackStrategy {
	list := v.Get("fallback_llms")
	if list.Kind() != jsonedit.Array {
		return nil
	}
	out := &llmentry.FallbackStrategy{Profiles: []string{}}
	for item := range list.Elements() {
		name, ok := item.Text()
		if !ok {
			return nil
		}
		out.Profiles = append(out.Profiles, name)
	}
	return out
}

// settle does what OpenHands does to every entry that it loads.
func settle(l *llmentry.LLM, models *canon.List) {
	e := canon.Entry{Model: l.Model}
	if l.BaseURL != nil {
		e.URL = canon.URL{State: canon.URLText, Text: *l.BaseURL}
	}
	if d := models.Decide(e); d.Action == canon.Migrate {
		l.Model, l.BaseURL = d.Model, nil
	}
	if strings.HasPrefix(l.Model, "openai/") && l.BaseURL != nil && strings.TrimSuffix(*l.BaseURL, "/") == "https://api.openai.com" {
		l.BaseURL = nil
	}
}

// Endpoint is the member that goes before the base URL, or stands for it; "" where none
// does.
func Endpoint(model, base, aws, ollama string) string {
	switch provider := secret.ProviderOf(model); {
	case provider == "bedrock":
		return aws
	case strings.HasPrefix(provider, "ollama") && strings.TrimSpace(base) == "":
		return ollama
	}
	return ""
}

// KeyState is how a secret is written in a file.
type KeyState string

// The states of secrets in files.
const (
	KeyNone      KeyState = "none"
	KeyRedacted  KeyState = "redacted"  // the mask was written in its place: the key is lost
	KeyPlain     KeyState = "plain"     // readable for whoever reads the file
	KeyEncrypted KeyState = "encrypted" // looks like it; whether it can be decrypted is another matter
)

// keyState reports how OpenHands takes the value of a secret.
func keyState(v jsonedit.Value) KeyState {
	text, _ := v.Text()
	switch {
	case strings.TrimSpace(text) == "":
		return KeyNone
	case text == secret.Redacted:
		return KeyRedacted
	case fernet.IsToken(text):
		return KeyEncrypted
	}
	return KeyPlain
}

// readSecret returns the secret in a member; the zero Value when there is none.
func readSecret(v jsonedit.Value, ciphers *Ciphers) (secret.Value, error) {
	text, _ := v.Text()
	switch keyState(v) {
	case KeyPlain:
		return secret.New(text), nil
	case KeyEncrypted:
		key, _, err := ciphers.Decrypt(text)
		return key, err
	}
	return secret.Value{}, nil
}

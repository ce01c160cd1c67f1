package storedagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/hidden"
)

// llmSecrets are the members of an LLM object that OpenHands stores encrypted.
var llmSecrets = []string{llm.FieldAPIKey, llm.FieldAWSAccessKeyID, llm.FieldAWSSecretAccessKey, llm.FieldAWSSessionToken}

// SecretFields are the members of an LLM object that are secret.
func SecretFields() []string { return slices.Clone(llmSecrets) }

// Replaced copies an agent with every secret in it replaced by what f makes of it: in
// its LLMs, its MCP servers and its own variables. Where f gives "", null stands in
// its place. The agent itself is not changed.
func (a Agent) Replaced(f func(value string) (string, error)) (Agent, error) {
	out := Agent{}
	for name, value := range a {
		var err error
		switch name {
		case "tools":
			value, err = replacedTools(value, f)
		case "llm", "condenser", "critic":
			value, err = replacedFields(value, f)
		case "mcp_config":
			value, err = replacedServers(a, f)
		case "verification": // of settings
			value, err = replacedCriticKey(a.Object(name), value, f)
		case "agent_context":
			value, err = replacedContext(a.Object(name), value, f)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// replacedFields replaces the secrets of the LLMs in a tree.
func replacedFields(value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	tree, err := decoded(value)
	if err != nil {
		return nil, err
	}
	if tree, err = mapFields(tree, f); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func mapFields(tree any, f func(string) (string, error)) (any, error) {
	switch v := tree.(type) {
	case map[string]any:
		for name, value := range v {
			var next any
			var err error
			if text, ok := value.(string); ok && slices.Contains(llmSecrets, name) {
				next, err = orNull(f, text)
			} else {
				next, err = mapFields(value, f)
			}
			if err != nil {
				return nil, err
			}
			v[name] = next
		}
	case []any:
		for i, value := range v {
			next, err := mapFields(value, f)
			if err != nil {
				return nil, err
			}
			v[i] = next
		}
	}
	return tree, nil
}

// orNull is what f makes of a text; what is empty is null, as OpenHands has it.
func orNull(f func(string) (string, error), text string) (any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	made, err := f(text)
	if err != nil || made == "" {
		return nil, err
	}
	return made, nil
}

// decoded is a JSON value whose numbers stay as they are written.
func decoded(value json.RawMessage) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// replacedCriticKey replaces the key of the critic in what settings say of it.
func replacedCriticKey(verification Agent, value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	key := verification.Text("critic_api_key")
	if key == "" {
		return value, nil
	}
	next, err := orNull(f, key)
	if err != nil {
		return nil, err
	}
	verification.Set("critic_api_key", next)
	return json.Marshal(verification)
}

func replacedServers(a Agent, f func(string) (string, error)) (json.RawMessage, error) {
	all := ServersOf(a)
	for name := range all {
		server := all.Object(name)
		if err := MapSecrets(server, f); err != nil {
			return nil, err
		}
		all.Set(name, server)
	}
	return json.Marshal(all)
}

// replacedContext replaces the values of the secrets in the context of an agent:
// texts, or sources as in a registry.
func replacedContext(context Agent, value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	secrets := context.Object("secrets")
	if len(secrets) == 0 {
		return value, nil
	}
	for name, source := range secrets {
		next, err := ReplacedSource(source, f)
		if err != nil {
			return nil, err
		}
		secrets[name] = next
	}
	context.Set("secrets", secrets)
	return json.Marshal(context)
}

// ReplacedSource replaces the value of a secret, or the headers with which it is
// looked up.
func ReplacedSource(source json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	tree, err := decoded(source)
	if err != nil {
		return nil, err
	}
	switch v := tree.(type) {
	case string:
		tree, err = orNull(f, v)
	case map[string]any:
		if text, ok := v["value"].(string); ok && err == nil {
			v["value"], err = orNull(f, text)
		}
		headers, _ := v["headers"].(map[string]any)
		for name, header := range headers {
			if text, ok := header.(string); ok && err == nil && secretenv.IsSecretHeader(name) {
				headers[name], err = f(text)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// Hide is the sealing of an engine without a key: nothing of a secret is left.
func Hide(string) (string, error) { return hidden.Redacted, nil }

// InClear is the unsealing of what is in the clear.
func InClear(value string) (string, error) { return value, nil }

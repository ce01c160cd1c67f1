package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/hidden"
)

// llmSecrets are the members of an LLM object that OpenHands stores encrypted.
var llmSecrets = []string{llm.FieldAPIKey, llm.FieldAWSAccessKeyID, llm.FieldAWSSecretAccessKey, llm.FieldAWSSessionToken}

// replaced is an agent with every secret in it replaced by what f makes of it: in
// its LLMs, its MCP servers and its own variables. Where f gives "", null stands in
// its place. The agent itself is not changed.
func (a agent) replaced(f func(value string) (string, error)) (agent, error) {
	out := agent{}
	for name, value := range a {
		var err error
		switch name {
		case "tools":
			value, err = replacedTools(value, f)
		case "llm", "condenser", "critic":
			value, err = replacedFields(value, f)
		case "mcp_config":
			value, err = replacedServers(a, f)
		case "agent_context":
			value, err = replacedContext(a.object(name), value, f)
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

func replacedServers(a agent, f func(string) (string, error)) (json.RawMessage, error) {
	all := serversOf(a)
	for name := range all {
		server := all.object(name)
		if err := mapSecrets(server, f); err != nil {
			return nil, err
		}
		all.set(name, server)
	}
	return json.Marshal(all)
}

// replacedContext replaces the values of the secrets in the context of an agent:
// texts, or sources as in a registry.
func replacedContext(context agent, value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	secrets := context.object("secrets")
	if len(secrets) == 0 {
		return value, nil
	}
	for name, source := range secrets {
		next, err := replacedSource(source, f)
		if err != nil {
			return nil, err
		}
		secrets[name] = next
	}
	context.set("secrets", secrets)
	return json.Marshal(context)
}

// replacedSource replaces the value of a secret, or the headers with which it is
// looked up.
func replacedSource(source json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
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

// hide is the sealing of an engine without a key: nothing of a secret is left.
func hide(string) (string, error) { return hidden.Redacted, nil }

// seal encrypts a secret for a conversation's directory; without a key it is not
// stored. What was not stored elsewhere has no value.
func (b *Backend) seal(value string) (string, error) {
	if b.cfg.Seal == nil || value == hidden.Redacted {
		return hide(value)
	}
	return b.cfg.Seal(value)
}

// given returns a secret of a request in the clear, or "" for a value that OpenHands has
// hidden.
func (b *Backend) given(value string) (string, error) {
	if value == hidden.Redacted {
		return "", nil
	}
	return b.unseal(value)
}

// unstored keeps what the directories of conversations do not have, because there
// is no key to encrypt it: their agents and secrets in the clear, as long as the
// process lives. The zero value keeps nothing.
type unstored struct {
	mu   sync.Mutex
	kept map[string]inTheClear // by conversation
}

// inTheClear is an agent and a registry of secrets with their values. Neither is
// ever stored or printed.
type inTheClear struct{ agent, secrets json.RawMessage }

// set keeps what is in the clear of a conversation; an empty part stays as it is.
func (u *unstored) set(id string, c inTheClear) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kept == nil {
		u.kept = make(map[string]inTheClear)
	}
	now := u.kept[id]
	if c.agent != nil {
		now.agent = c.agent
	}
	if c.secrets != nil {
		now.secrets = c.secrets
	}
	u.kept[id] = now
}

func (u *unstored) of(id string) inTheClear {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.kept[id]
}

// copy keeps of a conversation what is kept of another one.
func (u *unstored) copy(to, from string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c, ok := u.kept[from]; ok {
		u.kept[to] = c
	}
}

func (u *unstored) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.kept, id)
}

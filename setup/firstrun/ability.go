package firstrun

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
)

// Ability is what a server of this machine tells of a model beside its name.
type Ability struct {
	Context int64 // tokens that the server gives the model; 0: it does not say
	Tools   Tools
}

// Tools says whether a model knows how to call tools.
type Tools int

// The zero Tools is not known.
const (
	NoTools Tools = iota + 1
	HasTools
)

// maxAbilities is how many models of a server are asked for one by one.
const maxAbilities = 16

// abilities asks a server for what it reports about its models. list is its list of them.
func abilities(ctx context.Context, client *http.Client, base string, list []byte, models []string) map[string]Ability {
	out := make(map[string]Ability, len(models))
	kind := window.Other
	for _, name := range models {
		server, tokens := window.List(list, name)
		kind, out[name] = server, Ability{Context: tokens}
	}
	switch kind {
	case window.LlamaCpp:
		body, err := exchange(ctx, client, http.MethodGet, base+"/props", nil)
		if err != nil {
			break
		}
		for name, a := range out {
			if slot := window.Props(body); slot > 0 {
				a.Context = slot
			}
			a.Tools = llamaTools(body)
			out[name] = a
		}
	case window.Ollama:
		running, _ := exchange(ctx, client, http.MethodGet, base+"/api/ps", nil) // without it nothing is known to run
		for _, name := range models[:min(len(models), maxAbilities)] {
			out[name] = ollamaAbility(ctx, client, base, running, name)
		}
	case window.LMStudio:
		if body, err := exchange(ctx, client, http.MethodGet, base+"/api/v0/models", nil); err == nil {
			for name := range out {
				tokens, _ := window.Loaded(body, name)
				out[name] = Ability{Context: tokens, Tools: studioTools(body, name)}
			}
		}
	case window.VLLM, window.Other:
	}
	return out
}

// llamaTools reads llama.cpp's GET /props: whether the chat template has tools.
func llamaTools(props []byte) Tools {
	var p struct {
		Caps map[string]bool `json:"chat_template_caps"`
	}
	if json.Unmarshal(props, &p) != nil {
		return 0
	}
	knows, told := p.Caps["supports_tools"]
	return toolsOf(told, knows)
}

// ollamaAbility asks Ollama for one model: POST /api/show.
func ollamaAbility(ctx context.Context, client *http.Client, base string, running []byte, name string) Ability {
	tokens, _ := window.Running(running, name)
	a := Ability{Context: tokens}
	question, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return a
	}
	body, err := exchange(ctx, client, http.MethodPost, base+"/api/show", question)
	if err != nil {
		return a
	}
	if a.Context == 0 {
		a.Context = window.Shown(body)
	}
	var shown struct {
		Capabilities []string `json:"capabilities"`
	}
	if json.Unmarshal(body, &shown) == nil {
		a.Tools = toolsOf(len(shown.Capabilities) > 0, slices.Contains(shown.Capabilities, "tools"))
	}
	return a
}

// studioTools reads LM Studio's GET /api/v0/models.
func studioTools(body []byte, name string) Tools {
	var list struct {
		Data []struct {
			ID           string    `json:"id"`
			Capabilities *[]string `json:"capabilities"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return 0
	}
	for _, m := range list.Data {
		if m.ID == name && m.Capabilities != nil {
			return toolsOf(true, slices.Contains(*m.Capabilities, "tool_use"))
		}
	}
	return 0
}

func toolsOf(told, knows bool) Tools {
	switch {
	case !told:
		return 0
	case knows:
		return HasTools
	}
	return NoTools
}

// exchange makes one request to a server of this machine.
func exchange(ctx context.Context, client *http.Client, method, address string, question []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	if question != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return do(client, req)
}

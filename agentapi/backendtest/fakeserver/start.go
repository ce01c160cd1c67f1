package fakeserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// cipherMark begins a value that is encrypted; here it is only disguised.
const cipherMark = "gAAAAA"

func encrypt(plain string) string {
	return cipherMark + base64.RawURLEncoding.EncodeToString([]byte(plain))
}

func decrypt(value string) string {
	hidden, ok := strings.CutPrefix(value, cipherMark)
	if !ok {
		return value
	}
	plain, err := base64.RawURLEncoding.DecodeString(hidden)
	if err != nil {
		return value
	}
	return string(plain)
}

// exposed returns a secret in the form that the request asks for.
func (o Options) exposed(w http.ResponseWriter, r *http.Request, secret string) (any, bool) {
	switch r.Header.Get(exposeHeader) {
	case "":
		return nil, true
	case "plaintext":
		return secret, true
	case "encrypted":
		if o.NoSecretKey {
			refuse(w, 503, "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.")
			return nil, false
		}
		return encrypt(secret), true
	default:
		refuse(w, 400, "Invalid X-Expose-Secrets header value")
		return nil, false
	}
}

func (s *Server) getSettings(w http.ResponseWriter, r *http.Request) {
	key, ok := s.opts.exposed(w, r, "settings-key")
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	agent, _ := clone(s.settings.Agent).(map[string]any)
	if model, ok := agent["llm"].(map[string]any); ok {
		model["api_key"] = key
	}
	if context, ok := agent["agent_context"].(map[string]any); ok {
		context["current_datetime"] = stamp() + "Z"
	}
	answer(w, 200, object{
		"agent_settings": agent, "conversation_settings": s.settings.Conversation, "active_profile": s.active,
		"active_agent_profile_id": null(s.agents.activeID()),
	})
}

func clone(v any) any {
	var copied any
	_ = json.Unmarshal(encode(v), &copied) // it was encoded here
	return copied
}

func (s *Server) listProfiles(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []object{}
	for name, p := range s.profiles {
		list = append(list, object{
			"name": name, "model": p.Model, "base_url": null(p.BaseURL), "api_key_set": p.Key != "" && p.Connection == "",
			"provider_connection_id": null(p.Connection),
		})
	}
	answer(w, 200, object{"profiles": list, "active_profile": null(s.active)})
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) getProfile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	s.mu.Lock()
	p, ok := s.profiles[name]
	s.mu.Unlock()
	if !ok {
		refuse(w, 404, "Profile '"+name+"' not found")
		return
	}
	key, ok := s.opts.exposed(w, r, p.Key)
	if !ok {
		return
	}
	config := object{
		"model": p.Model, "base_url": null(p.BaseURL), "api_key": key, "usage_id": "default", "stream": false,
		"provider_connection_id": null(p.Connection), "num_retries": 0,
	}
	if p.Connection != "" {
		config["api_key"], config["base_url"] = nil, nil
	}
	answer(w, 200, object{"name": name, "config": config, "api_key_set": p.Key != ""})
}

// startRequest is what is read of POST /api/conversations.
type startRequest struct {
	ID        string         `json:"conversation_id"`
	Agent     map[string]any `json:"agent"`
	Settings  map[string]any `json:"agent_settings"`
	ProfileID string         `json:"agent_profile_id"`
	Additions struct {
		Suffix string `json:"system_message_suffix_append"`
	} `json:"agent_launch_additions"`
	Workspace struct {
		Dir string `json:"working_dir"`
	} `json:"workspace"`
	Policy    policy            `json:"confirmation_policy"`
	Analyzer  json.RawMessage   `json:"security_analyzer"`
	Tags      map[string]string `json:"tags"`
	Encrypted bool              `json:"secrets_encrypted"`
}

func (s *Server) startConversation(l *life) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in startRequest
		if !decode(w, r, &in) {
			return
		}
		if c := s.conversation(in.ID); c != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			answer(w, 200, c.saved)
			return
		}
		if !s.runs.enter() {
			refuse(w, 429, runLimit)
			return
		}
		defer s.runs.leave()
		agent, model, ok := s.agentOf(w, in)
		if !ok {
			return
		}
		if in.Workspace.Dir == "" || !validTags(in.Tags) {
			refuse(w, 422, "workspace or tags")
			return
		}
		c := &conversation{
			id: in.ID, server: s, workspace: in.Workspace.Dir, life: l, turn: make(chan struct{}, 1),
			policy: in.Policy, analyzer: in.Analyzer,
			places: map[string]int{}, status: event.Idle, tags: map[string]string{}, agent: agent, llm: model,
			llms: map[string]llm{model.UsageID: model}, stats: map[string]event.Metrics{}, subscribers: map[subscriber]struct{}{},
		}
		if s.version >= 1016 && in.Tags != nil {
			c.tags = in.Tags
		}
		c.save()
		s.mu.Lock()
		s.conversations[in.ID] = c
		s.mu.Unlock()
		answer(w, 201, c.saved)
	}
}

// The versions in which the switches for tools ended: the first has none in its
// settings, and the second refuses requests that have them.
const (
	sinceToolsAlone = 1051
	sinceNoSwitches = 1056
)

// removed are the members of an agent that this version refuses in a request.
func (v version) removed(agent map[string]any) []string {
	if v < sinceNoSwitches {
		return nil
	}
	var names []string
	for _, name := range []string{"enable_sub_agents", "enable_switch_llm_tool"} {
		if _, ok := agent[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// agentOf finds the agent that a request asks for.
func (s *Server) agentOf(w http.ResponseWriter, in startRequest) (agent map[string]any, model llm, ok bool) {
	if names := s.version.removed(in.Settings); len(names) > 0 {
		refuse(w, 422, "Removed agent settings: "+strings.Join(names, ", "))
		return nil, model, false
	}
	source := s.sourceOf(in)
	if source == nil || json.Unmarshal(encode(source["llm"]), &model) != nil || model.Model == "" {
		refuse(w, 422, "one of agent, agent_settings, agent_profile_id is needed")
		return nil, model, false
	}
	if in.Agent == nil && model.Stream && s.version < 1033 {
		refuse(w, 500, "the condenser would stream without a listener")
		return nil, model, false
	}
	if in.Encrypted {
		if s.opts.NoSecretKey {
			refuse(w, 500, "no cipher")
			return nil, model, false
		}
		model.Key = decrypt(model.Key)
	}
	if model.UsageID == "" {
		model.UsageID = "default"
	}
	model.listened = model.Stream
	context := contextOf(source, in.Additions.Suffix)
	tools, listed := source["tools"].([]any)
	if !listed && in.Agent == nil {
		tools = []any{map[string]any{"name": "terminal"}} // the default set, as far as it is known here
	}
	agent = map[string]any{"kind": "Agent", "llm": masked(model), "agent_context": context, "tools": tools}
	if servers, _ := source["mcp_config"].(map[string]any); len(servers) > 0 {
		agent["mcp_config"] = servers
	}
	return agent, model, true
}

// sourceOf is what a request says of its agent, in the form of an agent; nil:
// nothing that this version reads.
func (s *Server) sourceOf(in startRequest) map[string]any {
	switch {
	case in.ProfileID != "" && s.version >= 1029:
		return s.profiled(in.ProfileID)
	case in.Agent == nil && s.version >= 1022:
		return in.Settings
	}
	return in.Agent
}

// contextOf is the context of an agent, with more at the end of its suffix.
func contextOf(source map[string]any, more string) map[string]any {
	context, _ := source["agent_context"].(map[string]any)
	if context == nil {
		context = map[string]any{}
	}
	if more != "" {
		suffix, _ := context["system_message_suffix"].(string)
		context["system_message_suffix"] = strings.TrimPrefix(suffix+"\n\n"+more, "\n\n")
	}
	return context
}

// profiled makes the agent of an agent profile, with the key of its LLM profile.
func (s *Server) profiled(id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.agents.byID(id)
	if p == nil {
		return nil
	}
	l := s.profiles[p.text("llm_profile_ref")]
	return map[string]any{
		"llm":           map[string]any{"model": l.Model, "base_url": l.BaseURL, "api_key": l.Key, "usage_id": "profile", "stream": true},
		"agent_context": map[string]any{"system_message_suffix": p.text("system_message_suffix")}, "tools": p["tools"],
	}
}

func masked(l llm) map[string]any {
	return map[string]any{"model": l.Model, "base_url": null(l.BaseURL), "api_key": nil, "usage_id": l.UsageID, "stream": l.Stream}
}

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// The keys of a conversation's first models in its statistics.
const (
	agentUsage     = "agent"
	condenserUsage = "condenser"
)

// tagSystem keeps length and hash of the system text, which itself stands at
// the end of the agent's suffix.
const tagSystem = "ohgwsystem"

const suffixGap = "\n\n"

// agent is the part of a stored agent that the engine reads and writes; what
// else is in it is kept.
type agent map[string]json.RawMessage

func (a agent) set(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values of this file's own types come here
	}
	a[name] = data
}

func (a agent) object(name string) agent {
	o := agent{}
	if json.Unmarshal(a[name], &o) != nil || o == nil {
		return agent{}
	}
	return o
}

func (a agent) text(name string) string {
	var s string
	_ = json.Unmarshal(a[name], &s) // another type counts as none
	return s
}

type toolSpec struct {
	Name   string   `json:"name"`
	Params struct{} `json:"params"`
}

// newAgent is the agent of a new conversation, as OpenHands would make it of
// the profile and the settings. It has no key of a model, and the secrets of MCP
// servers as seal makes them.
func newAgent(p Profile, s Settings, system string, seal func(string) (string, error)) (json.RawMessage, error) {
	settings := agent{}
	if len(s.Agent) > 0 {
		if err := json.Unmarshal(s.Agent, &settings); err != nil {
			return nil, apierr.Refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	model, err := storedLLM(p, agentUsage, true)
	if err != nil {
		return nil, err
	}
	a := agent{}
	a.set("kind", "Agent")
	a.set("llm", model)
	standard := []toolSpec{{Name: "terminal"}, {Name: "file_editor"}, {Name: "task_tracker"}}
	switch tools, ok := settings["tools"]; {
	case ok && string(tools) != "null": // as it is: the switch is for the standard tools
		a["tools"] = tools
	case string(settings[shape.SubAgentsSwitch]) == "true":
		a.set("tools", append(standard, toolSpec{Name: "task_tool_set"}))
	default:
		a.set("tools", standard)
	}
	builtin := []string{"FinishTool", "ThinkTool"}
	if string(settings[shape.ModelSwitch]) == "true" { // the client has chosen a model, so that has to be said
		builtin = append(builtin, "SwitchLLMTool")
	}
	a.set("include_default_tools", builtin)
	if persona := settings.text("persona"); strings.TrimSpace(persona) != "" {
		a.set("persona", persona)
	}
	a.set("agent_context", newContext(settings.object("agent_context"), system))
	servers, err := storedServers(settings, seal)
	if err != nil {
		return nil, apierr.Refused("The MCP servers in OpenHands' settings cannot be stored with the conversation; repair mcp_config in settings.json.", err)
	}
	if len(servers) > 0 {
		a.set("mcp_config", servers)
	}
	if limit, ok := settings["tool_concurrency_limit"]; ok {
		a["tool_concurrency_limit"] = limit
	}
	if condenser := newCondenser(settings.object("condenser"), p); condenser != nil {
		a.set("condenser", condenser)
	}
	return json.Marshal(a)
}

// newContext is the context of a new agent: that of the settings, with system at
// the end of its suffix.
func newContext(settings agent, system string) agent {
	context := agent{}
	for _, name := range []string{"system_message_suffix", "user_message_suffix", "disabled_skills"} {
		if v, ok := settings[name]; ok && string(v) != "null" {
			context[name] = v
		}
	}
	// Another value than null is the time at which the settings were saved.
	if v := settings["current_datetime"]; string(v) == "null" {
		context["current_datetime"] = v
	}
	if system == "" {
		return context
	}
	if suffix := context.text("system_message_suffix"); suffix != "" {
		system = suffix + suffixGap + system
	}
	context.set("system_message_suffix", system)
	return context
}

func newCondenser(settings agent, p Profile) agent {
	if string(settings["enabled"]) == "false" || settings.text("condenser_kind") == "no_op" {
		return nil
	}
	model, err := storedLLM(p, condenserUsage, false)
	if err != nil {
		return nil // the same error has been told of the agent's own model
	}
	c := agent{}
	c.set("kind", "LLMSummarizingCondenser")
	c.set("llm", model)
	c.set("max_size", 240)
	c.set("keep_first", 2)
	for _, name := range []string{"max_size", "keep_first", "max_tokens", "minimum_progress"} {
		if v, ok := settings[name]; ok && string(v) != "null" {
			c[name] = v
		}
	}
	return c
}

// storedLLM is the LLM object of a profile for an agent: without key, under a
// usage id.
func storedLLM(p Profile, usage string, stream bool) (agent, error) {
	model := agent{}
	if err := json.Unmarshal(p.LLM, &model); err != nil {
		return nil, apierr.Refused(fmt.Sprintf("The profile %q cannot be read; repair or replace it.", p.Name), err)
	}
	for _, name := range []string{"schema_version", "is_subscription", "fallback_strategy", "api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"} {
		delete(model, name)
	}
	model.set("usage_id", usage)
	model.set("stream", stream)
	return model, nil
}

// confirm is the policy of a new conversation, and its analyzer: what was chosen for this
// engine, or else what the settings say. A nil value leaves what OpenHands begins with.
func (s Settings) confirm(chosen agentapi.Confirmation) (policy, analyzer json.RawMessage) {
	if chosen == "" {
		chosen = s.Confirm
	}
	chosen = chosen.Stricter(s.least)
	if s.Analyzer || chosen == agentapi.ConfirmRisky { // without an analyzer everything would be risky
		analyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
	if chosen != "" {
		policy = chosen.Policy()
	}
	return policy, analyzer
}

func systemMark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strconv.Itoa(len(text)) + ":" + hex.EncodeToString(sum[:])
}

// recallSystem finds the system text of a mark at the end of the agent's
// suffix.
func recallSystem(mark, suffix string) (text string, known bool) {
	length, _, ok := strings.Cut(mark, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(suffix) {
		return "", false
	}
	text = suffix[len(suffix)-n:]
	return text, systemMark(text) == mark
}

// models keeps the models that were made, one for each profile and usage, as
// long as the profile does not change.
type models struct {
	profiles Profiles
	make     func(Profile, string) (llm.Model, error)

	mu   sync.Mutex
	made map[conversation.Choice]madeModel
}

type madeModel struct {
	revision string
	model    llm.Model
}

func newModels(p Profiles, f func(Profile, string) (llm.Model, error)) *models {
	return &models{profiles: p, make: f, made: make(map[conversation.Choice]madeModel)}
}

// Model is the model of a choice as its profile is now.
func (m *models) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	p, err := m.load(ctx, c.Profile)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.made[c]; ok && old.revision == p.Revision && p.Revision != "" {
		return old.model, nil
	}
	model, err := m.make(p, c.Usage)
	if err != nil {
		return nil, apierr.Of(ctx, err, agentapi.ErrRefused, fmt.Sprintf("The profile %q cannot be used: %s.", c.Profile, withHint(err)))
	}
	m.made[c] = madeModel{p.Revision, model}
	return model, nil
}

// withHint is an error with what to do about it.
func withHint(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Hint != "" {
		return err.Error() + "; " + f.Hint
	}
	return err.Error()
}

func (m *models) load(ctx context.Context, name string) (Profile, error) {
	p, err := m.profiles.Load(ctx, name)
	return p, apierr.Of(ctx, err, agentapi.ErrUnavailable, fmt.Sprintf("The profile %q cannot be read.", name))
}

// Switched is the choice of a profile, and the agent with its model.
func (m *models) Switched(ctx context.Context, stored json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	p, err := m.load(ctx, profile)
	if err != nil {
		return conversation.Choice{}, nil, err
	}
	a := agent{}
	if err := json.Unmarshal(stored, &a); err != nil {
		return conversation.Choice{}, nil, apierr.Refused("The stored agent of this conversation cannot be read.", err)
	}
	choice := conversation.Choice{Profile: profile, Usage: "profile:" + profile}
	model, err := storedLLM(p, choice.Usage, true)
	if err != nil {
		return conversation.Choice{}, nil, err
	}
	a.set("llm", model)
	data, err := json.Marshal(a)
	return choice, data, err
}

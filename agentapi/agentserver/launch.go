package agentserver

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// startRequest is the body of POST /api/conversations.
type startRequest struct {
	ConversationID string          `json:"conversation_id"`
	Workspace      workingDir      `json:"workspace"`
	Agent          object          `json:"agent,omitempty"`
	AgentSettings  object          `json:"agent_settings,omitempty"`
	AgentProfileID string          `json:"agent_profile_id,omitempty"`
	Additions      *additions      `json:"agent_launch_additions,omitempty"`
	Encrypted      bool            `json:"secrets_encrypted,omitempty"`
	Secrets        object          `json:"secrets,omitempty"`
	Policy         json.RawMessage `json:"confirmation_policy,omitempty"`
	Analyzer       json.RawMessage `json:"security_analyzer,omitempty"`
	MaxIterations  int             `json:"max_iterations,omitempty"`
	Tags           tags            `json:"tags,omitempty"`
	Autotitle      bool            `json:"autotitle"` // the server asks the LLM once more

	handOver bool // the LLM of the agent that the server makes lacks our own secrets
}

type workingDir struct {
	Dir string `json:"working_dir"`
}

type additions struct {
	SystemSuffix string `json:"system_message_suffix_append"`
}

// storedSettings are the server's own settings for conversations.
type storedSettings struct {
	Agent        object               `json:"agent_settings"`
	Conversation conversationSettings `json:"conversation_settings"`
}

type conversationSettings struct {
	MaxIterations    int    `json:"max_iterations"`
	ConfirmationMode bool   `json:"confirmation_mode"`
	SecurityAnalyzer string `json:"security_analyzer"`
}

// agentUsage is the usage id of a conversation's first LLM. The condenser's is
// "condenser"; the statistics tell them apart.
const agentUsage = "agent"

// launch builds the request that starts a conversation as the server's own
// user interfaces would: with its settings, and the LLM of the profile.
func (b *Backend) launch(ctx context.Context, v version, req agentapi.OpenRequest) (startRequest, error) {
	start := startRequest{
		ConversationID: req.ID, Workspace: workingDir{req.Workspace},
		Autotitle: b.titles && !req.OneShot && v >= sinceTitles,
	}
	if v >= sinceTags {
		start.Tags = newTags(req.Profile, agentUsage, req.System)
	}
	if v < sinceProfiles {
		return start, b.launchOwn(v, req, &start)
	}
	if a, err := b.agentOf(ctx, v, req.Profile); err != nil || a != nil {
		if err == nil {
			err = b.launchAgent(ctx, a, req, &start)
		}
		return start, err
	}
	stored, llm, encrypted, err := b.launchParts(ctx, req.Profile)
	if err != nil {
		return start, err
	}
	start.Encrypted = encrypted
	stored.Conversation.apply(&start)
	if llm.text("provider_connection_id") != "" {
		return start, b.launchByAgentProfile(ctx, v, req, stored.Agent, &start)
	}
	if err := b.equip(ctx, req.Profile, llm); err != nil {
		return start, err
	}
	llm.set("usage_id", agentUsage)
	llm.set("stream", true)
	settings := openHandsAgent(stored.Agent)
	settings.set("llm", llm)
	keepModel(v, settings)
	context := settings.object("agent_context")
	delete(context, "current_datetime") // of the moment when the settings were read
	appendSystem(context, req.System)
	settings.set("agent_context", context)
	start.Secrets = secretSources(context.object("secrets"))
	if v < sinceSafeStreaming {
		start.Agent = explicitAgent(v, settings, llm)
		return start, nil
	}
	start.AgentSettings = settings
	return start, nil
}

// launchParts reads the settings and the profile, with their secrets encrypted
// if the server can do that, else in the clear.
func (b *Backend) launchParts(ctx context.Context, profile string) (stored storedSettings, llm object, encrypted bool, err error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for _, expose := range []string{exposeEncrypted, exposeCleartext} {
		group, both := errgroup.WithContext(limited)
		group.Go(func() error {
			_, err := b.client.do(both, request{method: http.MethodGet, path: "/api/settings", expose: expose, out: &stored})
			return err
		})
		group.Go(func() (err error) {
			llm, err = b.profileConfig(both, profile, expose)
			return err
		})
		err = group.Wait()
		if !isNoCipher(err) {
			return stored, llm, expose == exposeEncrypted, b.fault(ctx, "read its LLM profile", err)
		}
	}
	return stored, llm, false, b.fault(ctx, "read its LLM profile", err)
}

// equip puts our own secrets into the LLM of a profile. The server accepts plain secrets
// beside encrypted ones: it recognises encrypted ones by how they begin.
func (b *Backend) equip(ctx context.Context, profile string, llm object) error {
	secrets, err := b.secrets(ctx, LLMProfile{Name: profile, Model: llm.text("model"), BaseURL: llm.text("base_url")})
	if err != nil {
		return err
	}
	for _, s := range secrets {
		llm.set(s.Field, s.Value.Reveal())
	}
	return nil
}

// launchOwn starts with the LLM of our own config.
func (b *Backend) launchOwn(v version, req agentapi.OpenRequest, start *startRequest) error {
	if b.llm == nil {
		return b.needsLLM()
	}
	if req.Profile != b.llm.Profile {
		return profileNotFound(req.Profile, nil)
	}
	llm, context := object{}, object{}
	llm.set("model", b.llm.Model)
	if b.llm.BaseURL != "" {
		llm.set("base_url", b.llm.BaseURL)
	}
	if b.llm.Key != nil {
		llm.set("api_key", b.llm.Key())
	}
	llm.set("usage_id", agentUsage)
	llm.set("stream", v >= sinceDeltas)
	appendSystem(context, req.System)
	settings := object{}
	settings.set("agent_context", context)
	start.Agent = explicitAgent(v, settings, llm)
	return nil
}

// openHandsAgent returns the settings if they are those of an OpenHands agent, else only
// what means the same for one: an ACP agent has a model of its own.
func openHandsAgent(settings object) object {
	if settings == nil {
		return object{}
	}
	if settings.text("agent_kind") != "acp" {
		return settings
	}
	kept := object{}
	for _, name := range []string{"schema_version", "agent_context", "mcp_config"} {
		if value, ok := settings[name]; ok {
			kept[name] = value
		}
	}
	kept.set("agent_kind", "openhands")
	return kept
}

// keepModel takes the tool that changes the model from an agent, in its settings or
// its agent profile: the client chose the model. Until 1.50 a switch says so. Since
// 1.51 it is a tool like any other, which is also among those that null stands for,
// and 1.56 refuses requests that have the switches of before.
func keepModel(v version, agent object) {
	if v < sinceToolsAlone {
		agent.set(shape.ModelSwitch, false)
		return
	}
	for _, name := range shape.Switches() {
		delete(agent, name)
	}
	var tools []object
	if json.Unmarshal(agent["tools"], &tools) != nil || tools == nil {
		tools = standardTools()
	}
	agent.set("tools", slices.DeleteFunc(tools, func(tool object) bool { return shape.IsModelTool(tool.text("name")) }))
}

// standardTools are those that null stands for, apart from the one that switches the
// model and from a browser, of which only a server knows whether it has one. They
// have the form in which a server stores them.
func standardTools() []object {
	tools := make([]object, 0, 3)
	for _, name := range []string{"terminal", "file_editor", "task_tracker"} {
		tool := object{}
		tool.set("name", name)
		tool.set("params", object{})
		tools = append(tools, tool)
	}
	return tools
}

// explicitAgent makes the agent that a server would make of the settings. Servers before
// 1.33 make one whose condenser streams too, and fail on it.
func explicitAgent(v version, settings, llm object) object {
	agent := object{}
	agent.set("kind", "Agent")
	agent.set("llm", llm)
	for _, name := range []string{"mcp_config", "agent_context", "tool_concurrency_limit"} {
		if value, ok := settings[name]; ok {
			agent[name] = value
		}
	}
	if tools := string(settings["tools"]); tools != "" && tools != "null" && (tools != "[]" || v >= sinceToolDefault) {
		agent["tools"] = settings["tools"]
	} else {
		agent.set("tools", standardTools())
	}
	if condenser := explicitCondenser(settings.object("condenser"), llm); condenser != nil {
		agent.set("condenser", condenser)
	}
	return agent
}

func explicitCondenser(settings, llm object) object {
	if string(settings["enabled"]) == "false" {
		return nil
	}
	quiet := maps.Clone(llm)
	quiet.set("usage_id", "condenser")
	quiet.set("stream", false)
	condenser := object{}
	condenser.set("kind", "LLMSummarizingCondenser")
	condenser.set("llm", quiet)
	for _, name := range []string{"max_size", "keep_first"} {
		if value, ok := settings[name]; ok {
			condenser[name] = value
		}
	}
	return condenser
}

// apply maps the settings of conversations to the fields of a start request,
// as the server does for its own.
func (s conversationSettings) apply(start *startRequest) {
	start.MaxIterations = s.MaxIterations
	policy, analyzer := object{}, object{}
	switch {
	case !s.ConfirmationMode:
		policy.set("kind", "NeverConfirm")
	case s.SecurityAnalyzer == "llm":
		policy.set("kind", "ConfirmRisky")
	default:
		policy.set("kind", "AlwaysConfirm")
	}
	start.Policy = policy.raw()
	if s.SecurityAnalyzer == "llm" {
		analyzer.set("kind", "LLMSecurityAnalyzer")
		start.Analyzer = analyzer.raw()
	}
}

// appendSystem adds text to the suffix of the agent's system prompt.
func appendSystem(context object, text string) {
	if text == "" {
		return
	}
	if suffix := context.text("system_message_suffix"); suffix != "" {
		text = suffix + suffixGap + text
	}
	context.set("system_message_suffix", text)
}

const suffixGap = "\n\n"

// secretSources converts the secrets of the agent's context to the form in which a start
// request takes them.
func secretSources(secrets object) object {
	if len(secrets) == 0 {
		return nil
	}
	sources := object{}
	for name, value := range secrets {
		var plain string
		if json.Unmarshal(value, &plain) != nil {
			sources[name] = value // is a source
			continue
		}
		source := object{}
		source.set("kind", "StaticSecret")
		source.set("value", plain)
		sources.set(name, source)
	}
	return sources
}

// create starts the conversation, or finds it. A server that is full starts none,
// and is asked again when it has room.
func (b *Backend) create(ctx context.Context, start startRequest, progress func(string)) (info conversationInfo, created bool, err error) {
	try := func() error {
		limited, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		return b.room.take(false, func() error {
			status, err := b.client.do(limited, request{method: http.MethodPost, path: "/api/conversations", in: start, out: &info})
			created = status == http.StatusCreated
			return b.fault(ctx, "start a conversation", err)
		})
	}
	if err = try(); isFull(err) {
		if progress != nil {
			progress(agentapi.WaitsForRoom)
		}
		err = b.room.again(ctx, try)
	}
	return info, created, err
}

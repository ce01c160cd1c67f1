package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mvdan.cc/sh/v3/shell"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// Resolve makes agent_settings of the recipe with an id, for a conversation with an agent
// that a client has named as a model. A recipe that is not there is NotFound, and one that
// refers to something that is not there is Invalid. Its meta-profile has no effect: the
// client has chosen the model.
func (s *AgentProfiles) Resolve(_ context.Context, id string) (openhands.Launch, error) {
	return s.resolve(id, "", nil)
}

// ResolveAll is Resolve for those who expect what an agent-server does: there a
// meta-profile that is not there, or one of whose LLM profiles is not there, is Invalid.
// llm names an LLM profile that replaces the recipe's; "" replaces nothing. An ACP agent
// has no LLM profile, so naming one for it is Invalid.
func (s *AgentProfiles) ResolveAll(_ context.Context, id, llm string) (openhands.Launch, error) {
	return s.resolve(id, llm, s.danglingMeta)
}

// resolve does what ResolveAll does; without danglingMeta the meta-profile has no effect.
func (s *AgentProfiles) resolve(id, llmName string, danglingMeta func(shape.Tree) (*string, []string, error)) (openhands.Launch, error) {
	name, err := s.files.nameOf(id)
	if err != nil {
		return openhands.Launch{}, err
	}
	recipe, err := s.files.read(name)
	if err != nil {
		return openhands.Launch{}, err
	}
	servers, _, dangling := s.chosenServers(recipe)
	launch := openhands.Launch{ID: id, Revision: revisionOf(recipe), Ignored: ignored(recipe, danglingMeta != nil)}
	if refs, some := recipe.Texts("secret_refs"); some {
		launch.Secrets = &refs
	}
	gone := unresolved{servers: dangling, metaLLMs: []string{}}
	var llm shape.Tree
	isACP := recipe.Text("agent_kind") == "acp"
	if isACP && llmName != "" {
		return openhands.Launch{}, badLaunch(errors.New("agent_launch_additions.llm_profile_ref applies only to an OpenHands Agent Profile"))
	}
	if !isACP {
		launch.LLM = cmp.Or(llmName, recipe.Text("llm_profile_ref"))
		switch llm, err = s.recipeLLM(launch.LLM); {
		case isNotFound(err):
			gone.llm = &launch.LLM
		case err != nil:
			return openhands.Launch{}, unlaunchable(launch.LLM, err)
		}
		if danglingMeta != nil {
			gone.meta, gone.metaLLMs, err = danglingMeta(recipe)
		}
		if err != nil {
			return openhands.Launch{}, err
		}
	}
	if problems := gone.problems(); len(problems) > 0 {
		return openhands.Launch{}, gone.refuse(problems)
	}
	agent, err := s.assemble(recipe, llm, servers)
	if err != nil {
		return openhands.Launch{}, badLaunch(err)
	}
	unfold(agent, recipe)
	launch.Settings, err = encode(agent, shape.Plain)
	return launch, err
}

// badLaunch returns the error of an agent that cannot be made of its recipe.
func badLaunch(err error) error {
	return &openhands.Error{
		Kind: openhands.Invalid, Msg: err.Error(), Detail: map[string]any{"code": "invalid_agent_launch", "message": err.Error()}, Err: err,
	}
}

// unfold says the tools of an agent by switches, as the engine reads them. Those of a recipe
// that has some are taken over.
func unfold(agent, recipe shape.Tree) {
	if agent.Text("agent_kind") == "acp" {
		return
	}
	if _, has := recipe[shape.ModelSwitch]; !has {
		agent.Unfold()
		return
	}
	recipe.Unfold()
	for _, name := range append(shape.Switches(), "tools") {
		agent[name] = recipe[name]
	}
}

func revisionOf(recipe shape.Tree) int {
	var n int
	if raw, ok := recipe["revision"].(json.RawMessage); ok {
		_ = json.Unmarshal(raw, &n) // it was read as a number
	}
	return n
}

// ignored are the members of a recipe that say something and have no effect in the embedded
// agent, among what OpenHands 1.43.1 does not have. routes says that a meta-profile has one.
func ignored(recipe shape.Tree, routes bool) []string {
	var names []string
	for _, name := range shape.RecipeNewer() {
		raw, plain := recipe[name].(json.RawMessage)
		says := plain && string(raw) != "null" && string(raw) != "false" || len(recipe.List(name)) > 0
		effective := name == "secret_refs" || name == "persona" || routes && (name == routingMember || name == metaRefMember)
		if says && !effective {
			names = append(names, name)
		}
	}
	return names
}

// recipeLLM is the LLM of a recipe without its secrets.
func (s *AgentProfiles) recipeLLM(name string) (shape.Tree, error) {
	llm, err := s.llms.runnable(name)
	for member, value := range llm {
		if _, hidden := value.(secret.Value); hidden {
			llm.Set(member, nil)
		}
	}
	return llm, err
}

// chosenServers selects the tool servers of a recipe, by name, and the names that there are
// no servers for.
func (s *AgentProfiles) chosenServers(recipe shape.Tree) (servers shape.Tree, resolved, dangling []string) {
	all := s.settings.load().Agent.Tree("mcp_config")
	resolved, dangling = []string{}, []string{}
	refs, some := recipe.Texts("mcp_server_refs")
	if !some {
		return all, append(resolved, all.Names()...), dangling
	}
	servers = shape.Tree{}
	for _, name := range refs {
		switch server, there := all[name]; {
		case slices.Contains(resolved, name) || slices.Contains(dangling, name):
		case there:
			servers[name] = server
			resolved = append(resolved, name)
		default:
			dangling = append(dangling, name)
		}
	}
	return servers, resolved, dangling
}

// assemble makes agent_settings. The agent finds its skills itself.
func (s *AgentProfiles) assemble(recipe, llm, servers shape.Tree) (shape.Tree, error) {
	agent := shape.Tree{"agent_kind": recipe["agent_kind"], "mcp_config": servers}
	context := shape.Tree{}
	if recipe.Text("agent_kind") == "acp" {
		for _, name := range []string{"acp_server", "acp_model", "acp_session_mode", "acp_prompt_timeout", "acp_startup_timeout"} {
			agent[name] = recipe[name]
		}
		command, err := s.command(recipe)
		if err != nil {
			return nil, err
		}
		agent["acp_command"] = command
		agent["acp_args"] = append([]any{}, recipe.List("acp_args")...)
		context["current_datetime"] = json.RawMessage("null")
	} else {
		tools := shape.Tree{"tools": recipe["tools"]}
		if _, has := recipe[shape.ModelSwitch]; has {
			tools[shape.SubAgentsSwitch], tools[shape.ModelSwitch] = recipe[shape.SubAgentsSwitch], recipe[shape.ModelSwitch]
			tools.Fold()
		}
		agent["tools"] = tools["tools"]
		for _, name := range []string{"agent", "condenser", "verification", "tool_concurrency_limit"} {
			agent[name] = recipe[name]
		}
		for of, name := range map[string]string{"persona": "persona", routingMember: routingMember, metaRefMember: settings.ActiveMetaMember} {
			if value, has := recipe[of]; has {
				agent[name] = value
			}
		}
		agent["llm"] = llm
		context["load_project_skills"] = json.RawMessage("true")
		context["system_message_suffix"], context["disabled_skills"] = recipe["system_message_suffix"], recipe["disabled_skills"]
		context["load_user_skills"], context["load_public_skills"] = json.RawMessage("true"), json.RawMessage("true")
	}
	agent["agent_context"] = context
	data, err := encode(agent, shape.Plain)
	if err != nil {
		return nil, err
	}
	tree, faults, err := s.sealing.readJSON(shape.AgentSettings(), data)
	if err != nil || len(faults) > 0 {
		return nil, errors.Join(err, errors.New("the agent profile cannot be made into settings"))
	}
	return tree, nil
}

// command are the words of the command of an agent of another program.
func (s *AgentProfiles) command(recipe shape.Tree) ([]any, error) {
	words, err := shell.Fields(recipe.Text("acp_command"), func(string) string { return "" })
	if err != nil {
		return nil, errors.New("acp_command is not a command line")
	}
	if recipe.Text("acp_server") == "custom" && len(words) == 0 {
		return nil, errors.New("acp_command is required when acp_server='custom' — there is no default launch command to fall back to")
	}
	out := make([]any, len(words))
	for i, word := range words {
		out[i] = json.RawMessage(jsonedit.Quote(word))
	}
	return out, nil
}

// danglingMeta finds what a recipe with a meta-profile refers to and is not there: the
// meta-profile, or LLM profiles that it names.
func (s *AgentProfiles) danglingMeta(recipe shape.Tree) (meta *string, llms []string, err error) {
	llms = []string{}
	name := recipe.Text(metaRefMember)
	if raw, _ := recipe[routingMember].(json.RawMessage); name == "" || string(raw) != "true" {
		return nil, llms, nil
	}
	tree, err := s.metas.read(name)
	if isNotFound(err) {
		return &name, llms, nil
	}
	if err != nil {
		return nil, llms, &openhands.Error{Msg: fmt.Sprintf("Could not load meta-profile '%s': %v", name, err), Err: err}
	}
	for _, ref := range metaModels(tree) {
		if _, err := s.llms.read(ref); isNotFound(err) && !slices.Contains(llms, ref) {
			llms = append(llms, ref)
		}
	}
	return nil, llms, nil
}

// metaModels are the LLM profiles that a meta-profile names.
func metaModels(meta shape.Tree) []string {
	names := []string{meta.Text("classifier_model")}
	for _, item := range meta.List("classes") {
		class, _ := item.(shape.Tree)
		names = append(names, class.Text("model"))
	}
	return names
}

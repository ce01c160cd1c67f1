package files

import (
	"context"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// Diagnose reports what Resolve would make of the recipe of a name, or of a draft in its
// place. Its secrets are masked.
func (s *AgentProfiles) Diagnose(ctx context.Context, name string, draft map[string]any) (openhands.Diagnosis, error) {
	var recipe shape.Tree
	var err error
	if draft == nil {
		recipe, err = s.files.read(name)
	} else {
		recipe, err = sent(shape.Merge(draft, map[string]any{"name": name}, true)).read(s.files)
	}
	if err != nil {
		return openhands.Diagnosis{}, err
	}
	servers, resolved, dangling := s.chosenServers(recipe)
	disabled, _ := recipe.Texts("disabled_skills")
	d := openhands.Diagnosis{
		Kind: recipe.Text("agent_kind"), Errors: []string{}, Resolved: resolved, Dangling: dangling,
		DisabledSkills: disabled, Skills: []string{}, ACPFiles: []string{}, Unusable: []string{}, DanglingMetaLLMs: []string{},
		Servers: listOrAll(recipe, "mcp_server_refs"), Secrets: listOrAll(recipe, "secret_refs"), PublicSkills: listOrAll(recipe, "public_skills"),
	}
	var llm shape.Tree
	if d.Kind == "acp" {
		d.ACPKey, d.ACPURL, d.ACPFiles = acpSecrets(recipe.Text("acp_server"))
	} else {
		llm = s.diagnoseLLM(ctx, recipe, &d)
		s.diagnoseSkills(ctx, &d)
		d.Unusable = s.withoutTools(recipe)
	}
	gone := unresolved{servers: dangling}
	var broken error
	if d.Kind != "acp" {
		d.Meta = orNil(recipe.Text(metaRefMember))
		d.DanglingMeta, d.DanglingMetaLLMs, broken = s.danglingMeta(recipe)
		gone.meta, gone.metaLLMs = d.DanglingMeta, d.DanglingMetaLLMs
	}
	d.Errors = append(d.Errors, gone.problems()...)
	if broken != nil {
		d.Errors = append(d.Errors, fmt.Sprintf("Failed to build agent settings: %v", broken))
	}
	if len(d.Errors) > 0 {
		return d, nil
	}
	agent, err := s.assemble(recipe, llm, servers)
	if err != nil {
		d.Errors = append(d.Errors, fmt.Sprintf("Failed to build agent settings: %v", err))
		return d, nil
	}
	d.Valid = true
	d.Settings, err = exposed(agent, shape.Masked)
	return d, err
}

// listOrAll is a list of names; nil where there is none, which means all.
func listOrAll(recipe shape.Tree, name string) *[]string {
	if refs, some := recipe.Texts(name); some {
		return &refs
	}
	return nil
}

// browserTool is a tool that the embedded agent has only if it is named and there is a
// browser. An agent-server with a browser has it among the standard ones, too.
const browserTool = "browser_tool_set"

// withoutTools lists the tools of a recipe that the agent goes without.
func (s *AgentProfiles) withoutTools(recipe shape.Tree) []string {
	tools := recipe.List("tools")
	named := slices.ContainsFunc(tools, func(item any) bool {
		tool, _ := item.(shape.Tree)
		return tool.Text("name") == browserTool
	})
	if tools == nil || named && (s.browser == nil || !s.browser()) {
		return []string{browserTool}
	}
	return []string{}
}

func (s *AgentProfiles) diagnoseLLM(ctx context.Context, recipe shape.Tree, d *openhands.Diagnosis) shape.Tree {
	name := recipe.Text("llm_profile_ref")
	d.LLM = &name
	llm, err := s.llms.runnable(name)
	if err != nil {
		why := fmt.Sprintf("Could not load LLM profile '%s': %v", name, err)
		if isNotFound(err) {
			why = fmt.Sprintf("LLM profile '%s' not found", name)
		}
		d.Errors = append(d.Errors, why)
		return nil
	}
	d.LLMResolved = true
	d.LLMKeySet, _ = s.llms.findKey(ctx, name, llm, openhands.Masked) // it reads no key
	return llm
}

func (s *AgentProfiles) diagnoseSkills(ctx context.Context, d *openhands.Diagnosis) {
	if s.cfg.Skills == nil {
		return
	}
	names, err := s.cfg.Skills(ctx)
	if err != nil {
		d.Errors = append(d.Errors, "Skill discovery failed: "+err.Error())
		return
	}
	for _, name := range names {
		if !slices.Contains(d.DisabledSkills, name) {
			d.Skills = append(d.Skills, name)
		}
	}
}

// acpSecrets returns the names of the secrets that an agent of another program takes.
func acpSecrets(server string) (key, url *string, files []string) {
	name := func(s string) *string { return &s }
	switch server {
	case "claude-code":
		return name("ANTHROPIC_API_KEY"), name("ANTHROPIC_BASE_URL"), []string{}
	case "codex":
		return name("OPENAI_API_KEY"), name("OPENAI_BASE_URL"), []string{"CODEX_AUTH_JSON"}
	case "gemini-cli":
		return name("GEMINI_API_KEY"), name("GEMINI_BASE_URL"), []string{"GOOGLE_APPLICATION_CREDENTIALS_JSON"}
	case "kimi-code":
		return nil, name("KIMI_BASE_URL"), []string{"KIMI_CODE_CONFIG_TOML"}
	case "pi":
		return name("ANTHROPIC_API_KEY"), nil, []string{"PI_AUTH_JSON"}
	case "opencode":
		return name("OPENCODE_API_KEY"), nil, []string{}
	}
	return nil, nil, []string{}
}

package files

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// seedName is the name of the recipe that is made where there is none, and of the LLM
// profile that is made for it.
const seedName = "default"

// seed makes a recipe of the settings and makes it the active one.
func (s *AgentProfiles) seed(ctx context.Context, now settings.Settings) error {
	llm := seedName
	acp := now.Agent.Text("agent_kind") == "acp"
	switch {
	case now.Active != nil && *now.Active != "":
		llm = *now.Active
	case !acp:
		if err := s.seedLLM(ctx, now.Agent.Tree("llm")); err != nil {
			return err
		}
	}
	recipe, version := seedRecipe(now.Agent, llm)
	f := document.AgentProfileFile(s.base, seedName)
	var id *string
	err := f.WithLock(ctx, s.cfg.Locking, func() error {
		if !f.Read().Missing() {
			return nil // another process was faster
		}
		data, err := encode(recipe, shape.Plain)
		if err != nil {
			return err
		}
		tree, faults, err := s.sealing.readJSON(shape.AgentProfile(version), data)
		if err != nil || len(faults) > 0 {
			return errors.Join(err, errSettings)
		}
		if err := s.write(f, tree, nil); err != nil {
			return err
		}
		id = orNil(tree.Text("id"))
		return nil
	})
	if err != nil || id == nil {
		return busy(err)
	}
	return s.point(ctx, id)
}

// seedLLM makes an LLM profile of the settings' LLM, if that one is set up and
// the name is free.
func (s *AgentProfiles) seedLLM(ctx context.Context, llm shape.Tree) error {
	if !keySet(llm) && llm.Text("auth_type") != "subscription" && strings.TrimSpace(llm.Text("base_url")) == "" {
		return nil
	}
	if !document.ProfileFile(s.base, seedName).Read().Missing() {
		return nil
	}
	settle(llm, true)
	err := s.llms.write(ctx, seedName, llm)
	if full, ok := errors.AsType[*openhands.Error](err); ok && full.Kind == openhands.Taken {
		s.cfg.Log.Warn("there are too many LLM profiles to make one of the settings")
		return nil
	}
	return err
}

// seedRecipe says what the settings say, in the oldest version that can say it.
func seedRecipe(agent shape.Tree, llm string) (shape.Tree, int64) {
	recipe := shape.Tree{"name": json.RawMessage(jsonedit.Quote(seedName))}
	if agent.Text("agent_kind") == "acp" {
		for _, name := range []string{"agent_kind", "acp_server", "acp_model", "acp_session_mode", "acp_prompt_timeout", "acp_startup_timeout"} {
			recipe[name] = agent[name]
		}
		if command, _ := agent.Texts("acp_command"); len(command) > 0 {
			line := shellJoin(command)
			recipe.Set("acp_command", &line)
		}
		if args := agent.List("acp_args"); len(args) > 0 {
			recipe["acp_args"] = args
		}
		return recipe, shape.SwitchesVersion
	}
	recipe.Set("llm_profile_ref", &llm)
	for _, name := range []string{"agent", "tools", "condenser", "tool_concurrency_limit"} {
		recipe[name] = agent[name]
	}
	context := agent.Tree("agent_context")
	recipe["system_message_suffix"], recipe["disabled_skills"] = context["system_message_suffix"], context["disabled_skills"]
	verification := shape.Tree{}
	for name, value := range agent.Tree("verification") {
		if name != "critic_api_key" {
			verification[name] = value
		}
	}
	recipe["verification"] = verification
	newer := shape.Tree{"persona": agent["persona"], routingMember: agent[routingMember], metaRefMember: agent[settings.ActiveMetaMember]}
	if shape.Equal(newer, shape.Tree{"persona": null(), routingMember: json.RawMessage("false"), metaRefMember: null()}) {
		recipe.Unfold()
		return recipe, shape.SwitchesVersion
	}
	maps.Copy(recipe, newer)
	recipe["schema_version"] = json.RawMessage(strconv.Itoa(shape.RecipeVersion))
	return recipe, shape.RecipeVersion
}

func null() json.RawMessage { return json.RawMessage("null") }

// shellJoin is a command line of words.
func shellJoin(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_", r)
		}) {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(out, " ")
}
